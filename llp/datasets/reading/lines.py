"""Lines to typed columns by polars, or, in halves of a block that fails, to the line and column of what is wrong."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from llp.data.schema import LARGEST_NUMBER
from llp.datasets.reading.files import Block, Dialect, Field, Files, Kind, Opened
from llp.datasets.reading.layout import NUMBER, Layout, detect
from llp.datasets.reading.records import read_clean
from llp.datasets.reading.texts import text_of, whole_records
from llp.datasets.reading.unpack import Content

FEW = 1024  # lines that are looked at one by one
LEAST = -100_000  # a number has a code, and so has every one between it and 0
MOST = 2.0**63  # what 64 bits hold
HEX = "^[0-9a-f]{8}$"
HEX_BYTES = b"0123456789abcdef\t,\n.-"  # in a text of these alone, what polars takes for eight digits is HEX


class Fit(NamedTuple):
    """A check of a column of numbers."""

    words: str  # what fits
    value: Callable[[float], bool]  # of a value in Python
    column: Callable[[pl.Expr], pl.Expr]  # of a parsed column
    may_be_empty: bool = False


NUMBERS: dict[Kind, Fit] = {
    "0/1": Fit("0 or 1", lambda x: x in (0, 1), lambda x: x.is_in([0.0, 1.0])),
    "whole": Fit(
        f"an integer from {LEAST:,} up, of 64 bits at most, or empty",
        lambda x: LEAST <= x < MOST and x == int(x),
        lambda x: (x >= LEAST) & (x < MOST) & (x == x.floor()),
        may_be_empty=True,
    ),
    "number": Fit(
        f"a number of size {LARGEST_NUMBER:.2g} at most",
        lambda x: abs(x) <= LARGEST_NUMBER,
        lambda x: x.abs() <= LARGEST_NUMBER,
    ),
}
QUOTED = {
    separator: re.compile(rb'(?<![^%b\n])"([^"%b\n]*)"(?![^%b\n])' % (s, s, s))
    for separator in (b"\t", b",", b";", b"|")
    for s in [re.escape(separator)]
}


def all_blocks(files: Files, layout: Layout) -> Iterator[Block]:
    """All lines of files in a format."""

    def opened(content: Content) -> Opened:
        lines = whole_records(content.name, text_of(content))
        return Opened(lines, lambda text: detect(content.name, text, layout))

    for file in files:
        yield from files.blocks(file, opened)


def parse(block: Block, layout: Layout) -> tuple[pl.DataFrame, list[str]]:
    """A block's typed columns (Float64, UInt32 of hex, String), and a message for each of its wrong lines."""
    text, dialect = block.records, block.dialect
    first = block.first_line + (text is not block.text)
    if b'"' in text:
        text = QUOTED[dialect.separator].sub(rb"\1", text)
    frames, messages = _sift(text, first, block.file, dialect)
    kept = pl.concat(frames) if frames else _parse_clean(b"", dialect)
    assert kept is not None
    return kept.select(f.name for f in layout.fields if f.name not in layout.may_lack), messages


def _parse_clean(text: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """The columns of a text without any flaw; None for another one."""
    frame = None if b"\r" in text else read_clean(text, dialect)
    if frame is None:
        return None
    checks = [_fits(f) for f in dialect.fields if f.kind in NUMBERS]
    return _digits(frame, text, dialect) if frame.select(pl.all_horizontal(checks)).to_series().all() else None


def _fits(column: Field) -> pl.Expr:
    x, fit = pl.col(column.name), NUMBERS[column.kind]
    return x.is_null() | fit.column(x) if fit.may_be_empty else x.is_not_null() & fit.column(x)


def _digits(frame: pl.DataFrame, text: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """The frame with its hexadecimal columns as integers; None if one holds anything else."""
    names = [f.name for f in dialect.fields if f.kind == "hex"]
    if not names:
        return frame
    eight = pl.col(names).str.len_bytes() == 8
    if text.translate(None, HEX_BYTES):  # polars also takes upper case and a sign
        eight = pl.col(names).str.contains(HEX)
    if not frame.select(pl.all_horizontal(eight.all())).item():
        return None
    numbers = frame.select(pl.col(names).str.to_integer(base=16, dtype=pl.UInt32, strict=False))
    same_nulls = numbers.null_count().rows() == frame.select(names).null_count().rows()
    return frame.with_columns(numbers) if same_nulls else None


def _sift(text: bytes, first: int, file: str, dialect: Dialect) -> tuple[list[pl.DataFrame], list[str]]:
    """The columns of the lines that fit, in pieces, and what is wrong with the others."""
    frame = _parse_clean(text, dialect)
    if frame is not None:
        return [frame], []
    middle = text.index(b"\n", len(text) // 2) + 1
    if text.count(b"\n") <= FEW or middle == len(text):
        return _one_by_one(text, first, file, dialect)
    frames, messages = _sift(text[:middle], first, file, dialect)
    more_frames, more_messages = _sift(text[middle:], first + text.count(b"\n", 0, middle), file, dialect)
    return frames + more_frames, messages + more_messages


def _one_by_one(text: bytes, first: int, file: str, dialect: Dialect) -> tuple[list[pl.DataFrame], list[str]]:
    good: list[bytes] = []
    messages: list[str] = []
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), start=first):
        if flaw := _flaw(line, dialect):
            messages.append(f"{file}, line {number}, {flaw}")
        else:
            good.append(line + b"\n")
    frame = _parse_clean(b"".join(good), dialect)
    assert frame is not None, f"{file}, from line {first}: polars does not read what fits"
    return [frame], messages


def _flaw(line: bytes, dialect: Dialect) -> str | None:
    """Where and what the first flaw of a line is, if any."""
    values, wanted = line.split(dialect.separator), len(dialect.fields)
    if len(values) != wanted:
        return f"column {min(len(values), wanted) + 1}: the line has {len(values)} columns instead of {wanted}"
    for i, (value, column) in enumerate(zip(values, dialect.fields, strict=True), start=1):
        if unfit := _unfit(value, column.kind):
            shown = value.decode(errors="replace")
            shown = repr(shown if len(shown) <= 40 else f"{shown[:30]}...{shown[-4:]}")
            return f"column {i} ({column.name}): {shown} is not {unfit}"
    return None


@lru_cache(2**16)  # columns repeat their values
def _unfit(value: bytes, kind: Kind) -> str | None:
    """The kind, in words, that a value is not of; None for one that fits."""
    if kind == "text":
        is_utf8 = value.decode(errors="ignore").encode() == value
        return None if b"\r" not in value and is_utf8 else "text in UTF-8 without line ends"
    if kind == "hex":
        return None if re.fullmatch(rb"(?:[0-9a-f]{8})?", value) else "eight hexadecimal digits or empty"
    fit, value = NUMBERS[kind], value.lstrip(b" \t")  # as polars does
    fits = fit.may_be_empty if not value else bool(NUMBER.fullmatch(value)) and fit.value(float(value))
    return None if fits else fit.words
