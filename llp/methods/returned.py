"""Checks of values that a model or a method returns: others than training takes are refused, with their place."""

from typing import Any

from torch import Tensor

from llp.errors import InputError, place


def check_scores(scores: Any, model: Any) -> None:
    """Refuse what a model gives that is not one score for each instance: another shape would be spread over others."""
    if not isinstance(scores, Tensor) or scores.ndim != 1:
        found = place(type(model).forward.__code__)
        raise InputError(f"expected scores of shape (n,), got {_kind(scores)} from {found}")


def check_loss(loss: Any, method: Any) -> None:
    """Refuse a method's loss that cannot be trained on."""
    if isinstance(loss, Tensor) and not loss.ndim and loss.requires_grad:
        return
    kind = type(method)
    function = kind.bag_loss if kind.batch_loss.__module__ == "llp.methods.base" else kind.batch_loss
    problem = "a tensor without gradient" if isinstance(loss, Tensor) and not loss.ndim else _kind(loss)
    raise InputError(f"expected a scalar tensor with a gradient, got {problem} from {place(function.__code__)}")


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"
