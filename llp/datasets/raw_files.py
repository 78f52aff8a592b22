"""Raw text files as a stream of blocks of whole lines: plain, gzip or Zstandard, one file or several."""

import glob
import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from llp.errors import InputError

READ_BYTES = 2**20
BLOCK_BYTES = 2**24  # some 60,000 lines of Criteo CTR: as fast as larger ones, in half the memory
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Block(NamedTuple):
    """Whole lines of a file.

    Attributes
    ----------
    number : int
        Which block of all files together.
    path : Path
        The file.
    first_line : int
        Number of the block's first line in it, from 1.
    text : bytes
        The lines, each with its line feed.
    """

    number: int
    path: Path
    first_line: int
    text: bytes


def find_files(raw: Sequence[str]) -> list[Path]:
    """The files that a raw= option names: files, folders (the visible files in them) and globs, in order.

    Raises
    ------
    InputError
        A name fits no file.
    """
    found: list[Path] = []
    for name in raw:
        path = Path(name).expanduser()
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        else:
            files = [path] if path.is_file() else sorted(Path(match) for match in glob.glob(str(path)))
        if not files:
            raise InputError(f"raw={name}: no such file; write the path of a file, a folder of files, or a glob.")
        found += files
    return found


class RawFiles:
    """Several raw files, read once from end to end.

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

    def blocks(self) -> Iterator[Block]:
        """All lines, in blocks.

        Raises
        ------
        InputError
            A file is empty, cut off or damaged.
        """
        number = 0
        for path in self.paths:
            line = 1
            for text in _whole_lines(self._content(path)):
                yield Block(number, path, line, text)
                number += 1
                line += text.count(b"\n")
            if line == 1:
                raise InputError(f"{path} is empty.")

    def _content(self, path: Path) -> Iterator[bytes]:
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            pieces = self._read(file)
            if magic.startswith(GZIP):
                return (yield from _decompressed(path, pieces, lambda: zlib.decompressobj(wbits=31), zlib.error))
            if magic == ZSTD:
                import zstandard

                machine = zstandard.ZstdDecompressor()
                return (yield from _decompressed(path, pieces, machine.decompressobj, zstandard.ZstdError))
            return (yield from pieces)

    def _read(self, file: BinaryIO) -> Iterator[bytes]:
        while piece := file.read(READ_BYTES):
            self._checksum.update(piece)
            self._on_read(len(piece))
            yield piece


def _decompressed(
    path: Path, pieces: Iterator[bytes], new: Callable[[], Any], damaged: type[Exception]
) -> Iterator[bytes]:
    """The content of a compressed file, which may be several streams one after another."""
    machine = new()
    try:
        for piece in pieces:
            rest = piece
            while rest:
                if machine.eof:
                    machine = new()
                yield machine.decompress(rest)
                rest = machine.unused_data if machine.eof else b""
    except damaged as error:
        raise InputError(f"{path} is damaged ({error}); get it again.") from None
    if not machine.eof:
        raise InputError(f"{path} is cut off: the compressed data ends too early; get it again.")


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of about `BLOCK_BYTES` that end with a line feed; carriage returns before it are left out."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK_BYTES and b"\n" in piece:
            text = b"".join(held)
            end = text.rindex(b"\n") + 1
            held, size = [text[end:]], len(text) - end
            yield _line_feeds(text[:end])
    if last := b"".join(held):
        yield _line_feeds(last if last.endswith(b"\n") else last + b"\n")


def _line_feeds(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text
