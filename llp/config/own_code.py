"""Errors in a user's own classes and functions, reported with their place: it is what is to be mended."""

import inspect
import sys
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from llp.config.schema import TargetConfig
from llp.errors import InputError, first_line, out_of_memory, place
from llp.signals import Stopped

_NOT_OWN = ("llp", "torch")


class OwnCodeError(InputError):
    """The user's own code does what it may not, or raised an exception; says which and where in one line."""


@contextmanager
def placed_errors(groups: Collection[TargetConfig], *, debug: bool) -> Iterator[None]:
    """Turn exceptions from own code that groups name into an `OwnCodeError`; with debug=true they stay."""
    try:
        yield
    except (Stopped, InputError):
        raise
    except (Exception, SystemExit) as error:
        targets = [group.target for group in groups if group.target.split(".")[0] not in _NOT_OWN]
        own = out_of_memory(error) or (_placed(error, targets) if targets else None)
        if own is None or (debug and isinstance(error, Exception)):
            raise
        raise own from error


def _placed(error: BaseException, targets: Collection[str]) -> OwnCodeError | None:
    """The error for an exception that arose in own code, or in the use of it; None where that has no part in it."""
    packages = {target.split(".")[0] for target in targets}
    causes = list(_causes(error))
    said = ((one, where) for one in causes if (where := _raised_in(one, packages)) is not None)
    one, where = next(said, (causes[-1], None))
    if where is None and isinstance(error, OSError | SystemExit):
        return None
    # what own code gave to the program, or takes from it, is no use, such as a None in the place of scores
    used = where or f"the use of {' or '.join(map(_place_of_target, targets))}"
    return OwnCodeError(f"{_said(one)} in {used}; debug=true shows the traceback")


def _raised_in(error: BaseException, packages: Collection[str]) -> str | None:
    frames = list(traceback.walk_tb(error.__traceback__))
    if isinstance(error, OSError):  # of a full disk, say, under a call of the program's own: it names the file
        frames = frames[-1:]
    for frame, line in reversed(frames):
        if str(frame.f_globals.get("__name__")).split(".")[0] in packages:
            return place(frame.f_code, line)
    return None


def _place_of_target(path: str) -> str:
    """Name, file and line of a class or function that a config names; its path alone without its source."""
    module, _, name = path.rpartition(".")
    target = getattr(sys.modules.get(module), name, None)
    try:
        file, line = inspect.getsourcefile(target), inspect.getsourcelines(target)[1]  # type: ignore[arg-type]
    except (TypeError, OSError):
        return path
    return f"{name} ({file}, line {line})"


def _said(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code if error.code is not None else ''})"
    name, message = type(error).__name__, first_line(error)
    return name if message == name else f"{name}: {message}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it was raised from, the first cause first."""
    chain = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    yield from reversed(chain)


def check_constructed(made: Any, made_by: str) -> None:
    """Refuse what an own class made without its base class's constructor, which makes the attribute `made_by`."""
    if made_by not in vars(made):
        constructor = type(made).__init__.__code__
        raise OwnCodeError(f"expected super().__init__(...) to be called first in {place(constructor)}")
