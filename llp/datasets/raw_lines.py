"""Lines of a raw file to typed columns, or to the line and column of what does not fit.

Polars parses a whole block, and the result is checked by column. A block that fails is cut in halves until the lines
that do not fit are found. Polars alone would not do: it fills short and blank lines with nulls, and an empty field is
legal.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from llp.datasets.raw_files import Block
from llp.errors import InputError

Kind = Literal["0/1", "whole", "hex", "number", "text"]

FITS: dict[Kind, tuple[re.Pattern[bytes], str]] = {
    "0/1": (re.compile(rb"[01](?:\.0*)?"), "0 or 1"),
    "whole": (re.compile(rb"(?:[+-]?\d+(?:\.0*)?)?"), "a whole number or empty"),
    "hex": (re.compile(rb"(?:[0-9a-f]{8})?"), "eight hexadecimal digits or empty"),
    "number": (re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"), "a number"),
    "text": (re.compile(rb".*"), "text in UTF-8"),
}
SHOWN = 5  # bad lines that are reported one by one
SAMPLE = 100  # lines that tell a file's separator
FEW = 1024  # lines that are looked at one by one
HEX_BYTES = b"0123456789abcdef\t,\n.-"  # all that occurs in a format of numbers and hexadecimal digits


class Field(NamedTuple):
    """A column of a raw format: its name and what fits in it."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Layout:
    """A raw format.

    Attributes
    ----------
    dataset : str
        Its name, as in `dataset=NAME`.
    fields : tuple of Field
        The columns in their order where a file has no header.
    others : dict of int to str
        Numbers of columns of other known formats, and what they are.
    """

    dataset: str
    fields: tuple[Field, ...]
    others: dict[int, str]


class Dialect(NamedTuple):
    """How one file is written: its separator, the columns in its order, the lines of its header (0 or 1)."""

    separator: bytes
    fields: tuple[Field, ...]
    header: int


@dataclass
class BadLines:
    """What to do about lines that do not fit, and how many there were.

    Attributes
    ----------
    errors : {'stop', 'skip'}
        End with the first one, or count them.
    count : int
        How many were left out.
    shown : list of str
        The first of them: file, line, column and reason.
    """

    errors: Literal["stop", "skip"]
    count: int = 0
    shown: list[str] = field(default_factory=list)

    def add(self, messages: Sequence[str]) -> None:
        """Take in the bad lines of a block.

        Raises
        ------
        InputError
            There is one, and `errors` is 'stop'.
        """
        if messages and self.errors == "stop":
            raise InputError(f"{messages[0]}. Correct the file, or leave such lines out with errors=skip.")
        self.count += len(messages)
        self.shown += messages[: SHOWN - len(self.shown)]


def detect(path: Path, text: bytes, layout: Layout) -> Dialect:
    """The dialect of a file from its first lines.

    Raises
    ------
    InputError
        No separator gives the format's number of columns: this is another dataset.
    """
    lines = text.split(b"\n", SAMPLE)[:SAMPLE]
    if header := _header(lines[0], layout):
        return header
    wanted = len(layout.fields)
    for separator in (b"\t", b","):
        if any(line.count(separator) == wanted - 1 for line in lines):
            return Dialect(separator, layout.fields, header=0)
    found = lines[0].count(b"\t") + 1
    hint = f"; that is how {layout.others[found]} looks" if found in layout.others else ""
    raise InputError(
        f"{path}, line 1, column {min(found, wanted) + 1}: {found} tab-separated column(s), {layout.dataset} has "
        f"{wanted} ({layout.fields[0].name}, {layout.fields[1].name}, ..., {layout.fields[-1].name}){hint}."
    )


def _header(line: bytes, layout: Layout) -> Dialect | None:
    """The dialect of a file whose first line names all columns, in any order; upper and lower case are the same."""
    known = {f.name.lower(): f for f in layout.fields}
    for separator in (b"\t", b","):
        names = [name.strip().strip('"').lower() for name in line.decode(errors="replace").split(separator.decode())]
        names = [re.sub(r"^i(\d+)$", r"n\1", name) for name in names]  # the reference's I1 is the paper's N1
        if sorted(names) == sorted(known):
            return Dialect(separator, tuple(known[name] for name in names), header=1)
    return None


def parse(block: Block, dialect: Dialect, layout: Layout) -> tuple[pl.DataFrame, list[str]]:
    """A block's columns, and a message for each of its lines that does not fit.

    Numbers come as Float64, hexadecimal digits as UInt32, text as String; an empty field is null.
    """
    text, first = block.text, block.first_line
    if dialect.header and first == 1:
        text, first = text[text.index(b"\n") + 1 :], 2
    frames, messages = _sift(text, first, block.path, dialect)
    kept = pl.concat(frames) if frames else _parse_clean(b"", dialect)
    assert kept is not None
    return kept.select(f.name for f in layout.fields), messages


def _parse_clean(text: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """The columns of a text without any flaw; None for another one."""
    schema = {f.name: pl.String if f.kind in ("hex", "text") else pl.Float64 for f in dialect.fields}
    if not text:
        return _digits(pl.DataFrame(schema=schema), text, dialect)
    content = np.frombuffer(text, np.uint8)
    separators = np.count_nonzero(content == ord(dialect.separator))
    if separators != (len(dialect.fields) - 1) * np.count_nonzero(content == ord("\n")):
        return None
    try:  # a line with too many columns fails here, so none has too few
        frame = pl.read_csv(
            text, has_header=False, separator=dialect.separator.decode(), quote_char=None, schema=schema
        )
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None
    checks = [_fits(f) for f in dialect.fields if f.kind not in ("hex", "text")]
    return _digits(frame, text, dialect) if frame.select(pl.all_horizontal(checks)).to_series().all() else None


def _digits(frame: pl.DataFrame, text: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """The frame with its hexadecimal columns as integers; None if one holds anything else."""
    names = [f.name for f in dialect.fields if f.kind == "hex"]
    if not names:
        return frame
    numbers = frame.select(pl.col(names).str.to_integer(base=16, dtype=pl.UInt32, strict=False))
    eight = frame.select(pl.all_horizontal((pl.col(names).str.len_bytes() == 8).all())).item()
    only_digits = not text.translate(None, HEX_BYTES)  # polars also takes upper case and a sign
    same_nulls = numbers.null_count().rows() == frame.select(names).null_count().rows()
    return frame.with_columns(numbers) if eight and only_digits and same_nulls else None


def _fits(column: Field) -> pl.Expr:
    """Whether a column's values are of its kind, once they are parsed."""
    x = pl.col(column.name)
    if column.kind == "0/1":
        return x.is_in([0.0, 1.0]) & x.is_not_null()
    if column.kind == "whole":
        return x.is_null() | (x.is_finite() & (x == x.floor()))
    return x.is_not_null() & x.is_finite()


def _sift(text: bytes, first: int, path: Path, dialect: Dialect) -> tuple[list[pl.DataFrame], list[str]]:
    """The columns of the lines that fit, in pieces, and what is wrong with the others."""
    frame = _parse_clean(text, dialect)
    if frame is not None:
        return [frame], []
    n_lines = text.count(b"\n")
    if n_lines <= FEW:
        return _one_by_one(text, first, path, dialect)
    middle = text.index(b"\n", len(text) // 2) + 1
    if middle == len(text):
        return _one_by_one(text, first, path, dialect)
    frames, messages = _sift(text[:middle], first, path, dialect)
    more_frames, more_messages = _sift(text[middle:], first + text.count(b"\n", 0, middle), path, dialect)
    return frames + more_frames, messages + more_messages


def _one_by_one(text: bytes, first: int, path: Path, dialect: Dialect) -> tuple[list[pl.DataFrame], list[str]]:
    whole = _line_pattern(dialect)
    good: list[bytes] = []
    messages: list[str] = []
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), start=first):
        flaw = None if whole.fullmatch(line) and _is_utf8(line) else _flaw(line, dialect)
        if flaw:
            messages.append(f"{path}, line {number}, {flaw}")
        else:
            good.append(line + b"\n")
    frame = _parse_clean(b"".join(good), dialect)
    if frame is None:
        raise InputError(f"{path}, line {first}, column 1: the {len(good)} lines from here on cannot be read.")
    return [frame], messages


@lru_cache
def _line_pattern(dialect: Dialect) -> re.Pattern[bytes]:
    separator = re.escape(dialect.separator)
    any_text = b"[^" + separator + b"]*"
    return re.compile(separator.join(any_text if f.kind == "text" else FITS[f.kind][0].pattern for f in dialect.fields))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _flaw(line: bytes, dialect: Dialect) -> str:
    """Where and what the first flaw of a line is."""
    values, wanted = line.split(dialect.separator), len(dialect.fields)
    if len(values) != wanted:
        return f"column {min(len(values), wanted) + 1}: the line has {len(values)} columns instead of {wanted}"
    for i, (value, column) in enumerate(zip(values, dialect.fields, strict=True), start=1):
        pattern, fits = FITS[column.kind]
        if not (pattern.fullmatch(value) and _is_utf8(value)):
            return f"column {i} ({column.name}): {value.decode(errors='replace')!r} is not {fits}"
    raise AssertionError(f"{line!r} fits")
