"""The one way in which the networks initialise a dense layer."""

from torch import nn


def dense(width_in: int, width_out: int) -> nn.Linear:
    """Build a linear layer with a Glorot-uniform kernel and a zero bias (Keras' defaults)."""
    layer = nn.Linear(width_in, width_out)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
