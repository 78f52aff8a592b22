"""Files as a stream of blocks of whole records, each with how its text is written."""

import hashlib
import logging
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from llp.datasets.reading.find import DataFile, is_beside
from llp.datasets.reading.unpack import Content, contents, printable
from llp.errors import InputError

Kind = Literal["0/1", "whole", "hex", "number", "text"]


class Field(NamedTuple):
    """A column of a text: its name and what fits in it."""

    name: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Dialect:
    """The way in which one text is written."""

    separator: bytes  # one character
    fields: tuple[Field, ...]  # its columns, in order
    header: tuple[str, ...] | None  # names in its first line, where that is a header
    quote: str | None = None  # the character around fields that hold separators

    @property
    def columns(self) -> list[str]:
        """The columns' names."""
        return [field.name for field in self.fields]


log = logging.getLogger(__name__)


class Block(NamedTuple):
    """Whole records of a text."""

    file: str  # the text's name
    first_line: int  # number of the block's first line in the text, from 1
    text: bytes  # the records, each with its line feed
    dialect: Dialect

    @property
    def records(self) -> bytes:
        """The text without the header that the file may begin with."""
        begins = self.first_line == 1 and self.dialect.header is not None
        return self.text[self.text.index(b"\n") + 1 :] if begins else self.text


class Opened(NamedTuple):
    """A text that was opened: its blocks of whole records, and what tells from the first how they are written."""

    blocks: Iterator[bytes]
    detect: Callable[[bytes], Dialect]
    first_line: int = 1


@dataclass(eq=False)
class Files:
    """Several files, read once from end to end; what the user did not name is left out when it is no data."""

    files: Sequence[DataFile]
    on_read: Callable[[int], None]  # is told how many bytes were read
    other: Callable[[bytes], str | None] = lambda text: None  # says of a text that is not among the data what it is
    known: dict[tuple[object, ...], str] = field(default_factory=dict)  # names of texts, by what they hold
    _checksum: Any = field(default_factory=hashlib.sha256)
    _read: list[Path] = field(default_factory=list)
    _left_out: list[str] = field(default_factory=list)

    @property
    def total_bytes(self) -> int:
        """Size on disk, compressed where the files are."""
        return sum(file.path.stat().st_size for file in self.files)

    def source(self) -> dict[str, Any]:
        """Names, bytes and checksum (of the files as they lie, in order) for a table's schema; once all is read."""
        names = [printable(path.name) for path in self._read]
        total = sum(path.stat().st_size for path in self._read)
        return {"files": names, "bytes": total, "sha256": self._checksum.hexdigest()}

    def __iter__(self) -> Iterator[DataFile]:
        """The files that are data by their names; in the end it is said what was left out."""
        for file in self.files:
            if file.is_data:
                yield file
            else:
                self._left_out.append(f"{file.path} (no data by its name)")
        if not self._read:
            names = ", ".join(str(file.path) for file in self.files)
            raise InputError(f"no data among the files: {', '.join(self._left_out) or f'nothing in {names}'}.")
        if self._left_out:
            log.warning("%d file(s) left out: %s", len(self._left_out), ", ".join(self._left_out))

    def blocks(self, file: DataFile, opened: Callable[[Content], Opened]) -> Iterator[Block]:
        """All records of a file, unpacked, in blocks; none of what is left out. Refuses what another file holds."""
        before, read = self._checksum.copy(), False
        for content in contents(file.path, self._take):
            for block in self._text(file, content, opened):
                yield block
                read = True
        if read:
            self._read.append(file.path)
        else:
            self._checksum = before

    def read_whole(self, file: DataFile) -> None:
        """Take in a file's bytes, for the checksum and the progress, that something else reads."""
        checksum, size = 0, 0
        for content in contents(file.path, self._take):
            for piece in content.pieces:
                checksum, size = zlib.crc32(piece, checksum), size + len(piece)
        self._check_new(str(file.path), file, checksum, size)
        self._read.append(file.path)

    def tell(self, file: DataFile, n_bytes: int) -> None:
        """Count bytes of a file as read that were read by something else."""
        if file.path not in self._read[-1:]:
            self._read.append(file.path)
        self.on_read(n_bytes)

    def _take(self, piece: bytes) -> None:
        self._checksum.update(piece)
        self.on_read(len(piece))

    def _text(self, file: DataFile, text: Content, opened: Callable[[Content], Opened]) -> Iterator[Block]:
        named = file.named and text.name == str(file.path)
        if not named and is_beside(Path(text.name.rpartition(":")[2]).name) and text.name != str(file.path):
            self._left_out.append(f"{text.name} (no data by its name)")
            return
        blocks, detect, line = opened(text)
        first = next(blocks, b"")
        if not first and named:
            raise InputError(f"{text.name} is empty.")
        other = "empty" if not first else None if named else self.other(first)
        if other:
            self._left_out.append(f"{text.name} ({other})")
            return
        dialect = detect(first)
        checksum, size = 0, 0
        for block in chain([first], blocks):
            yield Block(text.name, line, block, dialect)
            line, checksum, size = line + block.count(b"\n"), zlib.crc32(block, checksum), size + len(block)
        self._check_new(text.name, file, checksum, size)

    def _check_new(self, name: str, file: DataFile, checksum: int, size: int) -> None:
        """Refuse a text that came before, in folders of the same partition."""
        key = (size, checksum, *file.partition.items())
        twice = self.known.setdefault(key, name)
        if twice != name:
            raise InputError(f"{name} holds the same lines as {twice}: name one of them alone.")
