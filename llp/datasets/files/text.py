"""Separated text of any dialect as frames of strings: separators, quotes, comments, encodings, headers.

A block holds whole records: a line feed inside quotes does not end one. Polars parses a whole block; one that it
refuses, or whose records have too few fields (polars fills those with nulls), goes through Python's `csv`, which says
which line is wrong.
"""

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.datasets.files.options import Reading
from llp.datasets.raw_blocks import BLOCK_BYTES
from llp.errors import InputError

SEPARATORS = {"tab": "\t", "semicolon": ";", "pipe": "|", "comma": ",", "space": " ", "\\t": "\t"}
SNIFFED = ("\t", ";", "|", ",")  # in this order: text may hold commas, but seldom one of the others in every line
SAMPLE_LINES = 100
LONGEST_RECORD = 16 * BLOCK_BYTES
BOM = codecs.BOM_UTF8
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class TextDialect:
    """How one text file is written.

    Attributes
    ----------
    columns : tuple of str
        Names of its columns, in order.
    separator : str
        One character.
    quote : str or None
        The character around fields that hold separators.
    header : tuple of str or None
        The fields of its first line, where that is a header; the line is left out wherever it comes again.
    """

    columns: tuple[str, ...]
    separator: str
    quote: str | None
    header: tuple[str, ...] | None


def utf8(path: Path, pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """A text file's content in UTF-8 with plain line feeds, without a byte order mark."""
    decode = codecs.getincrementaldecoder(encoding)()
    held, first = b"", True
    try:
        for piece in pieces:
            text = piece if encoding == "utf-8" else decode.decode(piece).encode()
            text = held + text
            held = text[-1:] if text.endswith(b"\r") else b""  # its line feed may come with the next piece
            text = text[: len(text) - len(held)].replace(b"\r\n", b"\n")
            yield text.removeprefix(BOM) if first else text
            first = False
        yield held + (b"" if encoding == "utf-8" else decode.decode(b"", final=True).encode())
    except UnicodeError as error:
        raise InputError(
            f"{path} is no text in {encoding} ({error}): name its encoding, such as encoding=latin-1"
        ) from None


def blocks(path: Path, pieces: Iterator[bytes], quote: str | None) -> Iterator[bytes]:
    """Blocks of about `BLOCK_BYTES` of whole records; the last one may lack its line feed, which is added.

    Raises
    ------
    InputError
        A quote is opened and never closed.
    """
    held: list[bytes] = []
    size, wanted = 0, BLOCK_BYTES
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < wanted:
            continue
        text = b"".join(held)
        end = _records_end(text, quote)
        if end == 0 and size > LONGEST_RECORD:
            raise InputError(f"{path}: {_open_quote(quote)}")
        wanted = BLOCK_BYTES if end else 2 * size
        held, size = [text[end:]], len(text) - end
        if end:
            yield text[:end]
    last = b"".join(held)
    if last:
        yield last if last.endswith(b"\n") else last + b"\n"


def _open_quote(quote: str | None) -> str:
    return f"a field that opens with {quote} is never closed; write quote=none if the file has no quotes"


def _inside_quotes(text: bytes, quote: str | None) -> NDArray[np.bool_] | None:
    """For each byte whether it stands between quotes; None where the text has none."""
    if quote is None or quote.encode() not in text:
        return None
    marks = np.frombuffer(text, np.uint8) == ord(quote)
    return (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)  # the sum wraps around, its parity does not


def _records_end(text: bytes, quote: str | None) -> int:
    """Where the last whole record of a text ends; 0 if none does."""
    inside = _inside_quotes(text, quote)
    if inside is None:
        return text.rfind(b"\n") + 1
    ends = np.flatnonzero((np.frombuffer(text, np.uint8) == ord("\n")) & ~inside)
    return int(ends[-1]) + 1 if len(ends) else 0


def detect(path: Path, text: bytes, reading: Reading, may_lack: str | None = None) -> TextDialect:
    """The dialect of a file from its first block and from what the user said; it may lack one of the columns given.

    Raises
    ------
    InputError
        Its columns cannot be named: no header, too few names, or a name that stands twice.
    """
    quote = None if reading.quote == "none" else reading.quote
    lines = [line for line in text.decode(errors="replace").split("\n", SAMPLE_LINES)[:SAMPLE_LINES] if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty.")
    separator = _separator(path, lines, reading, quote)
    first = tuple(field.strip() for field in _fields(lines[0], separator, quote))
    header = _header(path, first, reading)
    columns = tuple(reading.columns or header or (f"c{i}" for i in range(1, len(first) + 1)))
    if reading.columns and len(first) == len(columns) - 1:
        columns = tuple(name for name in columns if name != may_lack)
    if len(columns) != len(first):
        raise InputError(
            f"{path}: {len(columns)} names were given in columns=, its first line has {len(first)} fields"
            f" with the separator {separator!r}"
        )
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise InputError(f"{path}: the column name {twice[0]!r} stands twice; name all columns with columns=[A,B,...]")
    return TextDialect(columns, separator, quote, header)


def _separator(path: Path, lines: list[str], reading: Reading, quote: str | None) -> str:
    if reading.separator != "auto":
        return SEPARATORS.get(reading.separator, reading.separator)
    counts = {one: {len(_fields(line, one, quote)) for line in lines} for one in SNIFFED}
    if reading.decimal == "comma":
        del counts[","]
    constant = [one for one, found in counts.items() if len(found) == 1 and found != {1}]
    if constant:
        return constant[0]
    in_first = [one for one in counts if one in lines[0]]
    return in_first[-1] if in_first else ","


def _fields(line: str, separator: str, quote: str | None) -> list[str]:
    return next(_records([line], separator, quote), [""])


def _records(lines: Iterable[str], separator: str, quote: str | None) -> Any:
    if quote is None:
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=separator, quotechar=quote)


def _header(path: Path, first: tuple[str, ...], reading: Reading) -> tuple[str, ...] | None:
    """The first line's fields, where it is a header."""
    if reading.header is False:
        return None
    if reading.header is True:
        return first
    if reading.columns:
        same = [a.lower() == b.lower() for a, b in zip(first, reading.columns, strict=False)]
        return first if len(first) == len(reading.columns) and all(same) else None
    numbers = [field for field in first if NUMBER.fullmatch(field)]
    if numbers or "" in first:
        what = f"the number {numbers[0]}" if numbers else "an empty field"
        raise InputError(
            f"{path}: its first line holds {what}, so it may be no header; write header=true, or header=false with "
            "columns=[A,B,...]"
        )
    return first


def without_comments(pieces: Iterator[bytes], comment: str | None, quote: str | None) -> Iterator[bytes]:
    """A text whose lines that begin with the comment mark, outside quotes, are blank."""
    if comment is None:
        yield from pieces
        return
    held, inside = b"", False
    mark, quotes = comment.encode(), (quote or "").encode()
    for piece in itertools.chain(pieces, [b"\n"]):
        *lines, held = (held + piece).split(b"\n")
        for i, line in enumerate(lines):
            if not inside and line.startswith(mark):
                lines[i] = b""
            elif quotes:
                inside ^= line.count(quotes) % 2 == 1
        yield b"".join(line + b"\n" for line in lines)


def _without_blank_lines(text: bytes, quote: str | None) -> bytes:
    """The text without lines that are blank, but for those inside quotes."""
    if b"\n\n" not in text and not text.startswith(b"\n"):
        return text
    inside = _inside_quotes(text, quote)
    if inside is None:
        return re.sub(rb"\n{2,}", b"\n", text).removeprefix(b"\n")
    content = np.frombuffer(text, np.uint8)
    ends = (content == ord("\n")) & ~inside
    after_an_end = np.concatenate([[True], ends[:-1]])
    kept: bytes = content[~(ends & after_an_end)].tobytes()
    return kept


def parse(path: Path, text: bytes, first_line: int, dialect: TextDialect) -> tuple[pl.DataFrame, int, list[str]]:
    """A block's records as strings, how many headers stood among them, and a message for each one that is wrong."""
    frame = _parse_clean(_without_blank_lines(text, dialect.quote), dialect)
    messages: list[str] = []
    if frame is None:
        frame, messages = _one_by_one(path, text, first_line, dialect)
    if dialect.header is None:
        return frame, 0, messages
    same = [
        pl.col(column).str.strip_chars() == name for column, name in zip(dialect.columns, dialect.header, strict=True)
    ]
    kept = frame.filter(~pl.all_horizontal(same).fill_null(False))
    return kept, frame.height - kept.height, messages


def _parse_clean(text: bytes, dialect: TextDialect) -> pl.DataFrame | None:
    """The records of a text without any flaw; None for another one."""
    schema = dict.fromkeys(dialect.columns, pl.String)
    if not text:
        return pl.DataFrame(schema=schema)
    content, inside = np.frombuffer(text, np.uint8), _inside_quotes(text, dialect.quote)
    outside = content if inside is None else content[~inside]
    separators = np.count_nonzero(outside == ord(dialect.separator))
    if separators != (len(schema) - 1) * np.count_nonzero(outside == ord("\n")):
        return None
    try:  # a record with too many fields fails here, so none has too few
        return pl.read_csv(
            text, has_header=False, separator=dialect.separator, quote_char=dialect.quote, schema=schema,
        )  # fmt: skip
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None


def _one_by_one(path: Path, text: bytes, first_line: int, dialect: TextDialect) -> tuple[pl.DataFrame, list[str]]:
    """The records with the right number of fields, and where the others are."""
    try:
        lines = io.StringIO(text.decode(), newline="")
    except UnicodeDecodeError as error:
        line = first_line + text[: error.start].count(b"\n")
        raise InputError(
            f"{path}, line {line}: no text in UTF-8; name its encoding, such as encoding=latin-1"
        ) from None
    reader = _records(lines, dialect.separator, dialect.quote)
    good: list[list[str]] = []
    messages: list[str] = []
    wanted, line = len(dialect.columns), first_line
    for fields in reader:
        if len(fields) == wanted:
            good.append(fields)
        elif fields:
            messages.append(f"{path}, line {line}: {len(fields)} fields instead of {wanted}")
        line = first_line + reader.line_num
    schema = dict.fromkeys(dialect.columns, pl.String)
    return pl.DataFrame(good, schema=schema, orient="row"), messages
