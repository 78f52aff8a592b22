"""Raw files as a stream of blocks of whole lines."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from llp.datasets.raw_files import Content, contents, printable, text_of
from llp.datasets.raw_paths import RawFile, is_beside
from llp.errors import InputError

log = logging.getLogger(__name__)

BLOCK_BYTES = 2**24  # some 60,000 lines of Criteo CTR: as fast as larger ones, in half the memory
LINE_BYTES = 2**26  # a longer line is none
LINE_END_BYTES = 2**20  # a text without a line feed in so many bytes ends its lines with carriage returns


class Block(NamedTuple):
    """Whole lines of a text.

    Attributes
    ----------
    number : int
        Which block of all texts together.
    file : str
        The text's name.
    first_line : int
        Number of the block's first line in it, from 1.
    text : bytes
        The lines, each with its line feed.
    """

    number: int
    file: str
    first_line: int
    text: bytes


class RawFiles:
    """Several raw files, read once from end to end.

    What the user did not name (files of a folder, a glob or an archive) is left out when it is no data: a readme, an
    empty file, or a file that `other` knows.

    Parameters
    ----------
    files : sequence of RawFile
        The files, in order.
    on_read : callable
        Is told how many bytes were read from disk.
    other : callable
        Given a text's first lines, says what known other file this is, or None.

    Attributes
    ----------
    left_out : list of str
        What was left out and why.
    """

    def __init__(
        self, files: Sequence[RawFile], on_read: Callable[[int], None], other: Callable[[bytes], str | None]
    ) -> None:
        self._files = list(files)
        self._on_read = on_read
        self._other = other
        self._checksum = hashlib.sha256()
        self._read: list[Path] = []
        self._contents: dict[tuple[int, int, int], str] = {}
        self.left_out: list[str] = []

    @property
    def total_bytes(self) -> int:
        """Size on disk, compressed where the files are."""
        return sum(file.path.stat().st_size for file in self._files)

    def source(self) -> dict[str, Any]:
        """Names, bytes and checksum (of the files as they lie, in order) for a table's schema; once all is read."""
        names = [printable(path.name) for path in self._read]
        total = sum(path.stat().st_size for path in self._read)
        return {"files": names, "bytes": total, "sha256": self._checksum.hexdigest()}

    def blocks(self) -> Iterator[Block]:
        """All lines, in blocks; in the end it is told what was left out.

        Raises
        ------
        InputError
            A file is empty, cut off, damaged or no text, two hold the same, or nothing is left to be read.
        """
        number = 0
        for file in self._files:
            if not file.named and is_beside(file.path.name):
                self.left_out.append(f"{file.path} (no data by its name)")
                continue
            before, read = self._checksum.copy(), 0
            for text in contents(file.path, self._take):
                lines = self._lines(text, named=file.named and text.name == str(file.path))
                for first_line, content in lines:
                    yield Block(number, text.name, first_line, content)
                    number += 1
                    read += 1
            if read:
                self._read.append(file.path)
            else:
                self._checksum = before
        if number == 0:
            raise InputError(f"no data among the raw files: {', '.join(self.left_out) or 'an empty archive'}.")
        if self.left_out:
            log.warning("%d file(s) left out: %s", len(self.left_out), ", ".join(self.left_out))

    def _take(self, piece: bytes) -> None:
        self._checksum.update(piece)
        self._on_read(len(piece))

    def _lines(self, text: Content, *, named: bool) -> Iterator[tuple[int, bytes]]:
        """A text's blocks, each with the number of its first line; none for a text that is left out."""
        if not named and is_beside(Path(text.name.rpartition(":")[2]).name):
            self.left_out.append(f"{text.name} (no data by its name)")
            return
        blocks = whole_lines(text)
        first = next(blocks, b"")
        if not first and named:
            raise InputError(f"{text.name} is empty.")
        other = "empty" if not first else None if named else self._other(first)
        if other:
            self.left_out.append(f"{text.name} ({other})")
            return
        line, size, last = 1, 0, first
        for block in chain([first], blocks):
            yield line, block
            line, size, last = line + block.count(b"\n"), size + len(block), block
        twice = self._contents.setdefault((size, hash(first), hash(last)), text.name)
        if twice != text.name:
            raise InputError(f"{text.name} holds the same lines as {twice}: name one of them alone.")


def whole_lines(text: Content) -> Iterator[bytes]:
    """Blocks of about `BLOCK_BYTES` that end with a line feed, whatever ended their lines, without blank last lines.

    Raises
    ------
    InputError
        A line is longer than `LINE_BYTES`.
    """
    blank = b""  # lines at a block's end: they stay only where something follows
    for block in _cut(text.name, _line_feeds(text_of(text))):
        content = block.rstrip(b"\r\n")
        if not content:
            blank += block
            continue
        end = block.find(b"\n", len(content)) + 1
        lines = blank + content + b"\n"
        blank = block[end:] if end else b""
        while b"\r\n" in lines:
            lines = lines.replace(b"\r\n", b"\n")
        yield lines


def _cut(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks that end with a line feed, but for the last one."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK_BYTES and b"\n" in piece:
            text = b"".join(held)
            end = text.rindex(b"\n") + 1
            held, size = [text[end:]], len(text) - end
            yield text[:end]
        elif size > BLOCK_BYTES + LINE_BYTES:
            raise InputError(f"{name} holds a line of more than {LINE_BYTES // 2**20} MiB: it is no text of lines.")
    if last := b"".join(held):
        yield last


def _line_feeds(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same text; one whose lines end with carriage returns alone has line feeds instead."""
    head = b""
    while b"\n" not in head and len(head) < LINE_END_BYTES and (piece := next(pieces, b"")):
        head += piece
    if b"\n" in head or b"\r" not in head:
        yield head
        yield from pieces
    else:
        for piece in chain([head], pieces):
            yield piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
