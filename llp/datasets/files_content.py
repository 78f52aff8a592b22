"""Own files found and opened: plain, gzip, Zstandard or zip, read once with a checksum of the bytes on disk."""

import glob
import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llp.datasets.raw_files import GZIP, READ_BYTES, ZSTD, _decompressed
from llp.errors import InputError

ZIP = b"PK\x03\x04"


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
        names = [path.name for path in self.paths]
        return {"files": names, "bytes": self.total_bytes, "sha256": self._checksum.hexdigest()}

    def content(self, path: Path) -> Iterator[bytes]:
        """The unpacked content of one file, in pieces.

        Raises
        ------
        InputError
            It is cut off or damaged, or a zip archive of more than one file.
        """
        pieces = self._pieces(path)
        with path.open("rb") as file:
            magic = file.read(4)
        if magic.startswith(GZIP):
            yield from _decompressed(path, pieces, lambda: zlib.decompressobj(wbits=31), zlib.error)
        elif magic == ZSTD:
            import zstandard

            machine = zstandard.ZstdDecompressor()
            yield from _decompressed(path, pieces, machine.decompressobj, zstandard.ZstdError)
        elif magic == ZIP:
            for _ in pieces:  # the index is at the file's end: it is read from there, a second time
                pass
            yield from _only_member(path)
        else:
            yield from pieces

    def _pieces(self, path: Path) -> Iterator[bytes]:
        with path.open("rb") as file:
            while piece := file.read(READ_BYTES):
                self._checksum.update(piece)
                self._on_read(len(piece))
                yield piece


def _only_member(path: Path) -> Iterator[bytes]:
    """The content of the one file of a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if not name.endswith("/")]
            if len(members) != 1:
                raise InputError(f"{path} holds {len(members)} files, expected one: unpack it and name the folder")
            with archive.open(members[0]) as file:
                while piece := file.read(READ_BYTES):
                    yield piece
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path} is damaged ({error}); get it again") from None
