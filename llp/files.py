"""Files that are whole or not there."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path


def is_whole(path: Path) -> bool:
    """Whether a file that torch saved is there and not cut short: the index of a zip archive is its end."""
    return zipfile.is_zipfile(path)


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
