"""Which raw files an option such as raw= names, and which of them are no data by their names."""

import glob
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from llp.errors import InputError

log = logging.getLogger(__name__)

_PATH = "the path of a file, a folder of files, or a glob, such as {}=train.txt"

# what lies beside the data in a download, or what a program that wrote the data leaves there
BESIDE = re.compile(
    r"[._].*|(readme|licen[cs]e|terms|notice|.*submission|.*(md5|sha\d+)sums).*"
    r"|.*\.(md|pdf|html?|docx?|json|ya?ml|md5|sha\d+|crc|py|ipynb|log)",
    re.IGNORECASE,
)


class RawFile(NamedTuple):
    """A file to be read.

    Attributes
    ----------
    path : Path
        Where it is.
    named : bool
        Whether the user named it; False for one that was found in a folder or by a glob.
    """

    path: Path
    named: bool


def find_files(raw: Sequence[str], *, option: str = "raw") -> list[RawFile]:
    """The files that an option such as raw= names: files, folders (the visible files in them) and globs, in order.

    Raises
    ------
    InputError
        A name fits no file, or a file is named twice.
    """
    found: list[RawFile] = []
    for name in raw:
        found += _found(name, option)
    known: dict[tuple[int, int], Path] = {}
    for path in (file.path for file in found):
        place = path.stat()
        twice = known.setdefault((place.st_dev, place.st_ino), path)
        if twice is not path:
            raise InputError(f"Invalid {option}: it names {path} twice ({twice}); expected each file once")
    return found


def _found(name: str, option: str) -> list[RawFile]:
    given, expected = f"{option}={name}", _PATH.format(option)
    if not name.strip():
        raise InputError(f"Invalid {given}: expected {expected}")
    if "://" in name:
        raise InputError(
            f"Invalid {given}: expected the path of a file that was downloaded, such as {option}=train.txt"
        )
    path = Path(name)
    try:
        path = path.expanduser()
        if path.is_file():
            return [RawFile(path, named=True)]
        paths = sorted(path.iterdir()) if path.is_dir() else [Path(match) for match in sorted(glob.glob(str(path)))]
    except (ValueError, RuntimeError):  # a zero byte in the name; a user without a home
        paths = []
    files = [each for each in paths if each.is_file() and not each.name.startswith(".")]
    folders = [each.name for each in paths if each.is_dir() and not each.name.startswith(".")]
    if files:
        for folder in folders:
            log.warning("%s: the folder %s in it is not read", given, folder)
        return [RawFile(file, named=False) for file in files]
    if paths == [path]:
        raise InputError(f"Invalid {given}: it is a pipe or a device; expected {expected}")
    if folders:
        raise InputError(f"Invalid {given}: it holds no file, but folders; expected {given}/{folders[0]}")
    raise InputError(f"Invalid {given}: no such file; expected {expected}")


def is_beside(name: str) -> bool:
    """Whether a file's name says that it lies beside the data: a readme, a checksum, a marker."""
    return BESIDE.fullmatch(name) is not None
