"""The files that an option such as raw= or files= names, and those of them that are no data by their names."""

import glob
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from llp.errors import InputError

log = logging.getLogger(__name__)

_PATH = "the path of a file, a folder of files, or a glob, such as {}=train.txt"

# what lies beside the data in a download, or what a program that wrote the data leaves there
BESIDE = re.compile(
    r"[._].*|(readme|licen[cs]e|terms|notice|.*(md5|sha\d+)sums)[^.]*(\.txt)?"
    r"|.*\.(md|pdf|html?|docx?|json|ya?ml|md5|sha\d+|crc|py|ipynb|log)",
    re.IGNORECASE,
)
PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)  # a folder of Hive's: the column and the value of all rows below it
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class DataFile(NamedTuple):
    """A file to be read."""

    path: Path
    named: bool  # by the user; False for one that was found in a folder or by a glob

    @property
    def is_data(self) -> bool:
        """Whether the user named it, or its name does not say that it lies beside the data."""
        return self.named or not is_beside(self.path.name)

    @property
    def partition(self) -> dict[str, str | None]:
        """Columns that the names of the folders around the file give to all its rows, as in `day=2026-01-01/`."""
        found: dict[str, str | None] = {}
        for folder in self.path.parents:
            match = PARTITION.fullmatch(folder.name)
            if match is None:
                break
            found.setdefault(unquote(match[1]), None if match[2] == NO_VALUE else unquote(match[2]))
        return dict(reversed(found.items()))


def find_files(names: Sequence[str], *, option: str = "raw") -> list[DataFile]:
    """The files that an option such as raw= names: files, folders (the visible files in them) and globs, in order."""
    if not names:
        raise InputError(f"Invalid {option}=[]: expected {_PATH.format(option)}")
    found = [file for name in names for file in _found(name, option)]
    check_each_once({option: found})
    return found


def check_each_once(found: Mapping[str, Sequence[DataFile]]) -> None:
    """Refuse a file that options name twice, by whatever names."""
    known: dict[tuple[int, int], tuple[Path, str]] = {}
    for option, files in found.items():
        for path in (file.path for file in files):
            place = path.stat()
            twice, before = known.setdefault((place.st_dev, place.st_ino), (path, option))
            if before != option:
                raise InputError(f"Invalid {option}: it names {path}, which {before}= names too ({twice})")
            if twice is not path:
                raise InputError(f"Invalid {option}: it names {path} twice ({twice}); expected each file once")


def _found(name: str, option: str) -> list[DataFile]:
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
            return [DataFile(path, named=True)]
        paths = sorted(path.iterdir()) if path.is_dir() else [Path(match) for match in sorted(glob.glob(str(path)))]
    except (ValueError, RuntimeError):  # a zero byte in the name; a user without a home
        paths = []
    files = [DataFile(file, named=False) for file in _visible_files(paths)]
    folders = [each.name for each in _visible(paths) if each.is_dir() and not PARTITION.fullmatch(each.name)]
    if files:
        for folder in folders:
            log.warning("%s: the folder %s in it is not read", given, folder)
        return files
    if paths == [path]:
        raise InputError(f"Invalid {given}: it is a pipe or a device; expected {expected}")
    if folders:
        within = Path(name) / folders[0] if path.is_dir() else next(each for each in paths if each.name == folders[0])
        raise InputError(f"Invalid {given}: it holds no file, but folders; expected {option}={within}")
    what = "the folder holds no file" if path.is_dir() else "no such file"
    raise InputError(f"Invalid {given}: {what}; expected {expected}")


def _visible(paths: Sequence[Path]) -> list[Path]:
    return [each for each in paths if not each.name.startswith(".")]


def _visible_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Files among some paths, and those in folders of partitions."""
    for each in _visible(paths):
        if each.is_file():
            yield each
        elif PARTITION.fullmatch(each.name) and each.is_dir():
            yield from _visible_files(sorted(each.iterdir()))


def is_beside(name: str) -> bool:
    """Whether a file's name says that it lies beside the data: a readme, a checksum, a marker."""
    return BESIDE.fullmatch(name) is not None
