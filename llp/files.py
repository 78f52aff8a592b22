"""Files that are whole or not there."""

import logging
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from llp import signals

log = logging.getLogger(__name__)


def is_whole(path: Path) -> bool:
    """Whether a file that torch saved is there and not cut short: the index of a zip archive is its end."""
    return zipfile.is_zipfile(path)


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock among processes and threads; one that has to wait for it says that it is `busy`."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.warning("%s (lock %s): waiting for it", busy, path)
        while not lock.is_locked:
            signals.exit_if_received()
            with suppress(Timeout):
                lock.acquire(timeout=1)
    try:
        yield
    finally:
        lock.release()


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a temporary file beside `path`, flush it to disk and put it in its place.

    Parameters
    ----------
    path : Path
        Its folder is made when it is missing.
    write : callable
        Given the temporary file's path, which has the ending of `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
