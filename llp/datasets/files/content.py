"""Own files found and opened: plain, compressed or in an archive, read once with a checksum of the bytes on disk."""

import glob
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llp.datasets.raw_files import contents, printable
from llp.errors import InputError


def find_files(names: Sequence[str], *, option: str) -> list[Path]:
    """The files that an option such as files= names: files, folders (the visible files in them) and globs, in order.

    Raises
    ------
    InputError
        A name fits no file.
    """
    found: list[Path] = []
    for name in names:
        path = Path(name).expanduser()
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        else:
            files = [path] if path.is_file() else sorted(Path(match) for match in glob.glob(str(path)))
        if not files:
            raise InputError(f"Invalid {option}={name}: no such file; expected a file, a folder of files, or a glob")
        found += files
    return found


class OwnFiles:
    """Several files, each read once from end to end.

    Parameters
    ----------
    paths : sequence of Path
        The files, in order.
    on_read : callable
        Is told how many bytes were read from disk.
    """

    def __init__(self, paths: Sequence[Path], on_read: Callable[[int], None]) -> None:
        self.paths = list(paths)
        self._on_read = on_read
        self._checksum = hashlib.sha256()

    @property
    def total_bytes(self) -> int:
        """Size on disk, compressed where the files are."""
        return sum(path.stat().st_size for path in self.paths)

    def source(self) -> dict[str, Any]:
        """Names, bytes and checksum (of the files as they lie, in order) for a table's schema; once all is read."""
        names = [printable(path.name) for path in self.paths]
        return {"files": names, "bytes": self.total_bytes, "sha256": self._checksum.hexdigest()}

    def content(self, path: Path) -> Iterator[bytes]:
        """The unpacked content of one file, in pieces.

        Raises
        ------
        InputError
            It is cut off or damaged, or an archive of more than one file.
        """
        for number, (name, pieces) in enumerate(contents(path, self._take)):
            if number > 0:
                raise InputError(f"{path} holds more than one file ({name}): unpack it and name the folder")
            yield from pieces

    def tell(self, n_bytes: int) -> None:
        """Count bytes as read that were not read by `content`."""
        self._on_read(n_bytes)

    def _take(self, piece: bytes) -> None:
        self._checksum.update(piece)
        self._on_read(len(piece))
