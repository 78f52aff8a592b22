"""Hidden layers of a model, for the methods that work inside it."""

import itertools
from collections.abc import Sequence

from torch import Tensor, nn

from llp.errors import InputError


def dense(width_in: int, width_out: int) -> nn.Linear:
    """Build a linear layer with a Glorot-uniform kernel and a zero bias (Keras' defaults)."""
    layer = nn.Linear(width_in, width_out)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Layered(nn.Module):
    """A network whose `body` follows its first layer and whose `score` follows its body."""

    body: nn.Sequential
    score: nn.Linear

    def add_hidden(self, hidden: Sequence[int]) -> None:
        """Put relu layers, whose first is the one of `first_layer`, and a score behind the first layer."""
        self.body = nn.Sequential(nn.ReLU())
        for width_in, width_out in itertools.pairwise(hidden):
            self.body.extend([dense(width_in, width_out), nn.ReLU()])
        self.score = dense(hidden[-1], 1)

    def first_layer(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, D) of the first layer that mixes or embeds the columns, before any relu."""
        raise NotImplementedError

    def last_hidden(self, first: Tensor) -> Tensor:
        """Output (n, D') of the last hidden layer from that of the first one (n, D)."""
        out: Tensor = self.body(first)
        return out

    def score_from_first_layer(self, first: Tensor) -> Tensor:
        """Raw scores (n,) from the first layer's output (n, D)."""
        out: Tensor = self.score(self.last_hidden(first)).squeeze(-1)
        return out

    def representation(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, D') of the last hidden layer."""
        return self.last_hidden(self.first_layer(categorical, numeric))

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores (n,) of categorical (n, Fc) int32 and numeric (n, Fn)."""
        return self.score_from_first_layer(self.first_layer(categorical, numeric))


def hidden_layers_of(model: nn.Module, *, needed_by: str) -> Layered:
    """Give the model back as one with hidden layers; InputError where it has none."""
    if not isinstance(model, Layered):
        given = type(model).__name__
        raise InputError(f"Invalid model {given}: {needed_by} needs one with hidden layers, such as model=mlp")
    return model
