"""Which files a raw= option names, and which of them are no data by their names."""

import glob
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from llp.errors import InputError

log = logging.getLogger(__name__)

_PATH = "the path of a file, a folder of files, or a glob, such as raw=train.txt"

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


def find_files(raw: Sequence[str]) -> list[RawFile]:
    """The files that a raw= option names: files, folders (the visible files in them) and globs, in order.

    Raises
    ------
    InputError
        A name fits no file, or a file is named twice.
    """
    found: list[RawFile] = []
    for name in raw:
        found += _found(name)
    known: dict[tuple[int, int], Path] = {}
    for path in (file.path for file in found):
        place = path.stat()
        twice = known.setdefault((place.st_dev, place.st_ino), path)
        if twice is not path:
            raise InputError(f"Invalid raw: it names {path} twice ({twice}); expected each file once")
    return found


def _found(name: str) -> list[RawFile]:
    if not name.strip():
        raise InputError(f"Invalid raw=: expected {_PATH}")
    if "://" in name:
        raise InputError(f"Invalid raw={name}: expected the path of a file that was downloaded, such as raw=train.txt")
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
            log.warning("raw=%s: the folder %s in it is not read", name, folder)
        return [RawFile(file, named=False) for file in files]
    if paths == [path]:
        raise InputError(f"Invalid raw={name}: it is a pipe or a device; expected {_PATH}")
    if folders:
        raise InputError(f"Invalid raw={name}: it holds no file, but folders; expected raw={name}/{folders[0]}")
    raise InputError(f"Invalid raw={name}: no such file; expected {_PATH}")


def is_beside(name: str) -> bool:
    """Whether a file's name says that it lies beside the data: a readme, a checksum, a marker."""
    return BESIDE.fullmatch(name) is not None
