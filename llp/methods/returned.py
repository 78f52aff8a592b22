"""What a model and a method return, refused with its place where it is not what training takes."""

from typing import Any

from torch import Tensor

from llp.errors import InputError, place


def check_scores(scores: Any, model: Any) -> None:
    """Refuse what a model gives that is not one score for each instance: another shape would be spread over others.

    Raises
    ------
    InputError
        Says what the model returned, and where.
    """
    if not isinstance(scores, Tensor):
        problem = f"{scores!r}" if scores is None else f"a {type(scores).__name__}"
    elif scores.ndim != 1:
        problem = f"a tensor of shape {tuple(scores.shape)}"
    else:
        return
    raise InputError(f"expected scores of shape (n,), got {problem} from {place(type(model).forward.__code__)}")


def check_loss(loss: Any, method: Any) -> None:
    """Refuse a method's loss that cannot be trained on.

    Raises
    ------
    InputError
        Says what the method returned, and where.
    """
    if not isinstance(loss, Tensor):
        problem = f"{loss!r}" if loss is None else f"a {type(loss).__name__}"
    elif loss.ndim:
        problem = f"a tensor of shape {tuple(loss.shape)}"
    elif not loss.requires_grad:
        problem = "a tensor without gradient"
    else:
        return
    kind = type(method)
    function = kind.bag_loss if kind.batch_loss.__module__ == "llp.methods.base" else kind.batch_loss
    raise InputError(f"expected a scalar tensor with a gradient, got {problem} from {place(function.__code__)}")
