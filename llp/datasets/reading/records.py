"""Separated text as frames of strings, by polars, or by `csv` where fields lack: it says which line is wrong."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from llp.datasets.reading.files import Block, Dialect, Field
from llp.datasets.reading.options import SEPARATORS, Reading
from llp.datasets.reading.texts import inside_quotes, without_blank_lines
from llp.errors import InputError

SNIFFED = ("\t", ";", "|", ",")  # in this order: text may hold commas, but seldom one of the others in every line
SAMPLE_LINES = 100
NAMES = "its first line has to name the columns"
SHOWN = 5  # bad lines that are reported one by one
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")


@dataclass
class BadLines:
    """Wrong lines: what to do about them, and how many there were."""

    errors: Literal["stop", "skip"]  # end with the first one, or count them
    may_skip: bool = True  # whether the user has the choice of `errors`, and further options of files
    count: int = 0  # how many were left out
    shown: list[str] = field(default_factory=list)  # the first of them: file, line, column and reason

    def add(self, messages: Sequence[str]) -> None:
        """Take in the bad lines of a block, or refuse the first one."""
        if messages and self.errors == "stop":
            instead = ", or leave such lines out with errors=skip" if self.may_skip else ""
            raise InputError(f"{messages[0]}. Correct the file{instead}.")
        self.count += len(messages)
        self.shown += messages[: SHOWN - len(self.shown)]


def detect(
    path: str, text: bytes, reading: Reading, may_lack: str | None = None, *, has_options: bool = True
) -> Dialect:
    """The dialect of a file from its first block and what the user said; refuses columns that cannot be named."""
    quote = None if reading.quote == "none" else reading.quote
    lines = [line for line in text.decode(errors="replace").split("\n", SAMPLE_LINES)[:SAMPLE_LINES] if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty.")
    try:
        separator = _separator(path, lines, reading, quote)
        first = tuple(value.strip() for value in _fields(lines[0], separator, quote))
    except csv.Error as error:
        raise _no_records(path, error) from None
    header = _header(path, first, reading, has_options=has_options)
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
        remedy = "name all columns with columns=[A,B,...]" if has_options else NAMES
        raise InputError(f"{path}: the column name {twice[0]!r} stands twice; {remedy}")
    return Dialect(separator.encode(), tuple(map(Field, columns)), header, quote)


def _separator(path: str, lines: list[str], reading: Reading, quote: str | None) -> str:
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


def _no_records(path: str, error: csv.Error) -> InputError:
    what = f"a field of more than {csv.field_size_limit():,} characters"
    if "new-line" in str(error):
        what = "a carriage return inside a record"
    return InputError(f"{path} holds {what}: expected text whose records end in line feeds")


def _header(path: str, first: tuple[str, ...], reading: Reading, *, has_options: bool) -> tuple[str, ...] | None:
    if reading.header is False:
        return None
    if reading.header is True:
        return first
    if reading.columns:
        same = [a.lower() == b.lower() for a, b in zip(first, reading.columns, strict=False)]
        return first if len(first) == len(reading.columns) and all(same) else None
    numbers = [value for value in first if NUMBER.fullmatch(value)]
    if numbers or "" in first:
        what = f"the number {numbers[0]}" if numbers else "an empty field"
        remedy = "write header=true, or header=false with columns=[A,B,...]" if has_options else NAMES
        raise InputError(f"{path}: its first line holds {what}, so it may be no header; {remedy}")
    return first


def parse(block: Block) -> tuple[pl.DataFrame, int, list[str]]:
    """A block's records as strings, how many headers stood among them again, and a message for each that is wrong."""
    dialect, messages = block.dialect, list[str]()
    frame = read_clean(without_blank_lines(block.text, dialect.quote), dialect)
    if frame is None:
        frame, messages = _one_by_one(block)
    if dialect.header is None:
        return frame, 0, messages
    same = [
        pl.col([name]).str.strip_chars() == word for name, word in zip(dialect.columns, dialect.header, strict=True)
    ]
    if not frame.select(same[0]).to_series().any():  # most blocks: the other columns need no look
        return frame, 0, messages
    kept = frame.filter(~pl.all_horizontal(same).fill_null(False))
    return kept, max(0, frame.height - kept.height - (block.first_line == 1)), messages


def read_clean(text: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """The records of a text of which each has all columns, numbers as Float64; None for another text."""
    schema = {name: pl.Float64 if kind in ("0/1", "whole", "number") else pl.String for name, kind in dialect.fields}
    if not text:
        return pl.DataFrame(schema=schema)
    content, inside = np.frombuffer(text, np.uint8), inside_quotes(text, dialect.quote)
    outside = content if inside is None else content[~inside]
    separators = np.count_nonzero(outside == ord(dialect.separator))
    if separators != (len(schema) - 1) * np.count_nonzero(outside == ord("\n")):
        return None
    separator = dialect.separator.decode()
    try:  # a record with too many fields fails here, so none has too few
        return pl.read_csv(text, has_header=False, separator=separator, quote_char=dialect.quote, schema=schema)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None


def _one_by_one(block: Block) -> tuple[pl.DataFrame, list[str]]:
    """The records with the right number of fields, and where the others are."""
    path, first_line, text, dialect = block
    try:
        lines = io.StringIO(text.decode(), newline="")
    except UnicodeDecodeError as error:
        line = first_line + text[: error.start].count(b"\n")
        raise InputError(
            f"{path}, line {line}: no text in UTF-8; name its encoding, such as encoding=latin-1"
        ) from None
    reader = _records(lines, dialect.separator.decode(), dialect.quote)
    good: list[list[str]] = []
    messages: list[str] = []
    wanted, line = len(dialect.fields), first_line
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
