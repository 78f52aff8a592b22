"""Separated text of any dialect as frames of strings: separators, quotes, headers.

Polars parses a whole block of records; one that it refuses, or whose records have too few fields (polars fills those
with nulls), goes through Python's `csv`, which says which line is wrong.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from llp.datasets.files.options import SEPARATORS, Reading
from llp.datasets.files.text_blocks import inside_quotes, without_blank_lines
from llp.errors import InputError

SNIFFED = ("\t", ";", "|", ",")  # in this order: text may hold commas, but seldom one of the others in every line
SAMPLE_LINES = 100
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
    try:
        separator = _separator(path, lines, reading, quote)
        first = tuple(field.strip() for field in _fields(lines[0], separator, quote))
    except csv.Error as error:
        raise _no_records(path, error) from None
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


def _no_records(path: Path, error: csv.Error) -> InputError:
    what = f"a field of more than {csv.field_size_limit():,} signs"
    if "new-line" in str(error):
        what = "a carriage return without its line feed"
    return InputError(f"{path} holds {what}: expected text whose records end in line feeds")


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


def parse(path: Path, text: bytes, first_line: int, dialect: TextDialect) -> tuple[pl.DataFrame, int, list[str]]:
    """A block's records as strings, how many headers stood among them, and a message for each one that is wrong."""
    frame = _parse_clean(without_blank_lines(text, dialect.quote), dialect)
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
    content, inside = np.frombuffer(text, np.uint8), inside_quotes(text, dialect.quote)
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
    try:
        for fields in reader:
            if len(fields) == wanted:
                good.append(fields)
            elif fields:
                messages.append(f"{path}, line {line}: {len(fields)} fields instead of {wanted}")
            line = first_line + reader.line_num
    except csv.Error as error:
        raise _no_records(path, error) from None
    schema = dict.fromkeys(dialect.columns, pl.String)
    return pl.DataFrame(good, schema=schema, orient="row"), messages
