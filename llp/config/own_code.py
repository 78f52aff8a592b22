"""Errors in the classes and functions of a user's own packages, told with their place: it is what is to be mended."""

import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from omegaconf import DictConfig, OmegaConf

from llp.errors import InputError, first_line
from llp.signals import Stopped

_NOT_OWN = ("llp", "torch")


class OwnCodeError(InputError):
    """The user's own code does what it may not, or raised an exception; says which and where in one line."""


def own_packages(config: DictConfig) -> set[str]:
    """Packages, other than this one and torch, of the classes and functions that a config names."""
    groups = [config.get(group) for group in ("method", "model", "optimizer")] + [config.dataset.get("prepare")]
    targets = [str(OmegaConf.select(group, "_target_")) for group in groups if group is not None]
    return {target.split(".")[0] for target in targets} - set(_NOT_OWN)


@contextmanager
def placed_errors(config: DictConfig) -> Iterator[None]:
    """Turn exceptions that arise in own code into an `OwnCodeError`; with debug=true they stay as they are."""
    try:
        yield
    except (Stopped, InputError, OSError):
        raise
    except (Exception, SystemExit) as error:
        own = told(error, own_packages(config))
        if own is None or (config.debug and isinstance(error, Exception)):
            raise
        raise own from error


def told(error: BaseException, packages: Collection[str]) -> OwnCodeError | None:
    """What to say of an exception that arose while own code was running; None where none was.

    Parameters
    ----------
    error : BaseException
        Possibly raised from the one that arose in own code.
    packages : collection of str
        See `own_packages`.
    """
    for one in _causes(error):
        for frame, line in reversed(list(traceback.walk_tb(one.__traceback__))):
            if str(frame.f_globals.get("__name__")).split(".")[0] in packages:
                return OwnCodeError(f"{_said(one)} in {place(frame.f_code, line)}; debug=true shows the traceback")
    return None


def _said(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code if error.code is not None else ''})"
    name, message = type(error).__name__, first_line(error)
    return name if message == name else f"{name}: {message}"


def place(code: CodeType, line: int | None = None) -> str:
    """Where code is: class and function, file and line."""
    return f"{code.co_qualname} ({code.co_filename}, line {line or code.co_firstlineno})"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it was raised from, the first cause first."""
    chain = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    yield from reversed(chain)


def check_loss(loss: Any, method: Any) -> None:
    """Refuse a method's loss that cannot be trained on.

    Raises
    ------
    OwnCodeError
        Says what the method returned, and where.
    """
    import torch

    if not isinstance(loss, torch.Tensor):
        problem = f"{loss!r}" if loss is None else f"a {type(loss).__name__}"
    elif loss.ndim:
        problem = f"a tensor of shape {tuple(loss.shape)}"
    elif not loss.requires_grad:
        problem = "a tensor without gradient"
    else:
        return
    kind = type(method)
    function = kind.bag_loss if kind.batch_loss.__module__ == "llp.methods.base" else kind.batch_loss
    raise OwnCodeError(f"expected a scalar tensor with a gradient, got {problem} from {place(function.__code__)}")
