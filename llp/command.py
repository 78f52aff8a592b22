"""The frame of every command: a signal ends it with one line, a reader that has left is no error."""

import functools
import io
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.errors import CompactHydraException
from hydra.types import RunMode

from llp import signals
from llp.errors import InputError, out_of_memory

_FOR_OTHERS = 1.0  # seconds that a stopped worker leaves the others to stop theirs: joblib kills them once one is gone


def command(main: Callable[..., Any], *, resumes: bool = True) -> Callable[..., Any]:
    """Decorate a command's main function, above `hydra.main`; one that was cut off `resumes`, or starts over."""

    @functools.wraps(main)
    def run(*args: Any, **kwargs: Any) -> Any:
        _check_surroundings()
        outlive_readers()
        signals.listen()
        try:
            return main(*args, **kwargs)
        except signals.Stopped as end:
            if not end.told:
                again = "resumes" if resumes else "starts over"
                print(f"stopped by {end.number.name}; the same command {again}", file=sys.stderr)
            sys.exit(end.code)

    return run


def _check_surroundings() -> None:
    """Replace standard streams that were closed by ones to nowhere; refuse a current folder that was removed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # as long as the process
    try:
        os.getcwd()
    except OSError as error:
        sys.exit(f"The current folder is not known ({error.strerror}): expected one that is there, such as cd FOLDER")


@contextmanager
def launched() -> Iterator[None]:
    """Around a run that a launcher may have given to a worker process: a signal ends the worker with its run."""
    if multiprocessing.parent_process() is None:
        yield
        return
    outlive_readers()
    signals.listen_in_worker()
    try:
        yield
    except signals.Stopped as end:
        logging.shutdown()
        time.sleep(_FOR_OTHERS)
        os._exit(128 + end.number)  # the worker would go on with the next point
    finally:
        signals.leave_to_default()


@contextmanager
def told_in_a_line() -> Iterator[None]:
    """Around a command's work: wrong input ends the command with its message, one line, without a traceback."""
    try:
        yield
    except Exception as given:
        signals.exit_if_received()  # a signal in the middle of an import comes out of it as any error
        error = out_of_memory(given) or given
        if not isinstance(error, InputError | OSError):
            raise
        if HydraConfig.initialized() and HydraConfig.get().mode == RunMode.RUN:
            sys.exit(str(error))
        raise CompactHydraException(str(error)) from None  # whose message Hydra prints, with advice on tracebacks


def outlive_readers() -> None:
    """Let output go nowhere once its reader, disk or terminal is gone: what is under way is worth its end."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is getattr(sys, f"__{name}__") and isinstance(stream, io.TextIOWrapper):
            stream.flush()
            raw = _Output(descriptor, "w", closefd=False)
            line_buffering = stream.line_buffering or name == "stderr"
            new = io.TextIOWrapper(
                io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=line_buffering
            )
            setattr(sys, name, new)


class _Output(io.FileIO):
    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            number = self.fileno()
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), number)
            if number == 1 and not isinstance(error, BrokenPipeError):
                print(f"standard output ends here: {error.strerror}", file=sys.stderr)
            return len(memoryview(content).cast("B"))
