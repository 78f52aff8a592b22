"""What a model with hidden layers offers to the methods that work inside it."""

from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from llp.errors import InputError


@runtime_checkable
class HiddenLayers(Protocol):
    """A model whose first layer and whose representation can be had; its forward is the second of the first."""

    def first_layer(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, D) of the first layer that mixes or embeds the columns, before any relu."""

    def score_from_first_layer(self, first: Tensor) -> Tensor:
        """Raw scores (n,) from the first layer's output (n, D)."""

    def representation(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, D') of the last hidden layer."""


def hidden_layers_of(model: nn.Module, *, needed_by: str) -> HiddenLayers:
    """Give the model back as one with hidden layers.

    Raises
    ------
    InputError
        It has none.
    """
    if not isinstance(model, HiddenLayers):
        given = type(model).__name__
        raise InputError(f"Invalid model {given}: {needed_by} needs one with hidden layers, such as model=mlp")
    return model
