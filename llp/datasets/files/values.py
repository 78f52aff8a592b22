"""A raw column as text, as a number or as a date: polars expressions that every use of own files shares.

A value has one text, number or date whatever wrote it: 1 and 1.0, True and true, 2024-01-05 and 2024-01-05T00:00:00 are
the same in text files and in typed ones.
"""

import re
from collections.abc import Callable

import polars as pl

from llp.data.schema import LARGEST_NUMBER
from llp.datasets.files.options import DatePart
from llp.datasets.reading.options import DECIMALS, THOUSANDS, Reading
from llp.errors import first_line, invalid

ISO = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")
BETWEEN_BAGS = "|"
SECONDS = len("2013-01-31 23:59:59")
DAY, TIME, FRACTION = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d", r"(?:(\.\d*?[1-9])0*|\.0+)"


def text(column: str, kind: pl.DataType, reading: Reading) -> pl.Expr:
    """The column's values as their canonical text (see `canonical`)."""
    x = pl.col(column)
    if kind == pl.String:
        return x.map_batches(lambda some: _canonical_of(some, reading), return_dtype=pl.String, is_elementwise=True)
    return _typed_text(x, kind)


def _typed_text(x: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if kind.is_float():
        return _float_text(x)
    if isinstance(kind, pl.Datetime):
        at = x.dt.to_string("%Y-%m-%d %H:%M:%S%.f")
        return at.str.replace(rf"{FRACTION}$", "$1").str.strip_suffix(" 00:00:00")
    return x.cast(pl.String).str.replace(rf"{FRACTION}$", "$1") if kind.is_decimal() else x.cast(pl.String)


def canonical(x: pl.Expr, reading: Reading) -> pl.Expr:
    """One text for what is written in several ways: 1.0 is 1, True is true, a day's midnight is the day.

    Dates and times are ISO, without a time zone and without zeros at the end of a second's fraction. All else stays.
    """
    x = x.str.replace(rf"^([+-]?(?:0|[1-9]\d*)){DECIMALS[reading.decimal]}0+$", "$1").str.replace("^[+-]0$", "0")
    x = x.str.replace("(?i)^true$", "true").str.replace("(?i)^false$", "false")
    x = x.str.replace(rf"^({TIME}:\d\d){FRACTION}$", "$1$2")
    x = x.str.replace(rf"^({DAY})[T ]({TIME})(:\d\d)?{FRACTION}?(?:Z|[+-]\d\d:?\d\d)?$", "$1 $2$3$4")
    return x.str.replace(rf"^({DAY} {TIME})$", "$1:00").str.replace(rf"^({DAY}) 00:00:00$", "$1")


def _canonical_of(some: pl.Series, reading: Reading) -> pl.Series:
    """The canonical texts of some values, worked out once for each distinct one."""
    distinct = some.unique()
    found = distinct.to_frame().select(canonical(pl.col(some.name), reading)).to_series()
    changed = distinct.ne_missing(found)
    return some.replace(distinct.filter(changed), found.filter(changed)) if changed.any() else some


def number_text(x: pl.Expr, reading: Reading) -> pl.Expr:
    """Canonical texts that are numbers as those of a file that holds the numbers: 3.10 is 3.1, 1e3 is 1000."""
    value = _as_float(x, reading)
    return pl.when(x.str.contains(r"^-?\d+$") | value.is_null()).then(x).otherwise(_float_text(value))


def _float_text(x: pl.Expr) -> pl.Expr:
    whole = x.round(0).eq(x) & (x.abs() < 2.0**63)
    return pl.when(whole).then(x.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(x.cast(pl.String))


def _as_float(x: pl.Expr, reading: Reading) -> pl.Expr:
    if reading.thousands != "none":
        groups = x.str.contains(f"^{grouped(reading.thousands, reading.decimal)}$")
        others = pl.when(~x.str.contains(".", literal=True)).then(x) if reading.thousands == "point" else x
        x = pl.when(groups).then(x.str.replace_all(THOUSANDS[reading.thousands], "")).otherwise(others)
    x = x.str.replace(",", ".", literal=True) if reading.decimal == "comma" else x
    return x.cast(pl.Float64, strict=False)


def bags_of(
    column: str, kind: pl.DataType, *, overlap: bool, reading: Reading,
    known_as: Callable[[pl.Expr], pl.Expr] = lambda ids: ids,
) -> pl.Expr:  # fmt: skip
    """The bags of each row, a list of their ids: the text, or with `overlap` those between which | stands.

    `known_as` says what becomes of an id; null leaves it out.
    """
    ids = text(column, kind, reading)
    if not overlap:
        return pl.concat_list(known_as(ids)).list.drop_nulls()
    one = canonical(pl.element().str.strip_chars(), reading)
    several = ids.fill_null("").str.split(BETWEEN_BAGS).list.eval(known_as(pl.when(one != "").then(one)))
    return several.list.drop_nulls().list.unique(maintain_order=True)


def grouped(thousands: str, decimal: str) -> str:
    """A pattern of numbers with a mark between their thousands: 5,300 and 1,234,567.8 for comma and point."""
    return rf"[+-]?\d{{1,3}}({THOUSANDS[thousands]}\d{{3}})+({DECIMALS[decimal]}\d*)?"


def number(column: str, kind: pl.DataType, reading: Reading) -> pl.Expr:
    """The column's values as Float64 that a table can hold; null where there is none."""
    x = raw_number(column, kind, reading)
    return pl.when(x.abs() <= LARGEST_NUMBER).then(x)


def raw_number(column: str, kind: pl.DataType, reading: Reading) -> pl.Expr:
    """The column's values as Float64, infinite and huge ones too; null where there is none."""
    x = pl.col(column)
    if kind == pl.String:
        x = _as_float(x, reading)
        return pl.when(x.is_not_nan()).then(x)
    return x.cast(pl.Float64) if kind.is_numeric() else pl.lit(None, pl.Float64)


def date(column: str, kind: pl.DataType, *, date_format: str) -> pl.Expr:
    """The column's values as dates with times, of a time zone those of its clocks; null where there is none."""
    x = pl.col(column)
    if isinstance(kind, pl.Datetime):
        return x.dt.replace_time_zone(None)
    if kind.is_temporal():
        return x.cast(pl.Datetime)
    if date_format != "iso" and kind.is_numeric():  # 20240105 of a typed file
        x, kind = _typed_text(x, kind), pl.String()
    if kind != pl.String:
        return pl.lit(None, pl.Datetime)
    if date_format != "iso":
        begin, pattern = whole_format(date_format)
        return (x + begin).str.to_datetime(pattern, strict=False)
    iso = x.str.slice(0, SECONDS).str.replace("T", " ", literal=True)
    colons = iso.str.count_matches(":", literal=True)  # a format is tried on the texts alone that may be written so
    return pl.coalesce(pl.when(colons == one.count(":")).then(iso).str.to_datetime(one, strict=False) for one in ISO)


def whole_format(date_format: str) -> tuple[str, str]:
    """The text that a date without minutes, a day or a month lacks, and the pattern with what reads it.

    >>> whole_format("%y%m%d%H"), whole_format("%Y"), whole_format("%d.%m.%Y")
    ((' 00', '%y%m%d%H %M'), (' 01 01', '%Y %d %m'), ('', '%d.%m.%Y'))
    """
    given = set(re.findall(r"%[-_0]?([A-Za-z+])", date_format))
    lacking = [(" 00", " %M")] if given & set("HIkl") and not given & set("MRTXrcs+") else []
    if given & set("YyCG") and not given & set("UWVG"):
        lacking += [] if given & set("dejDFvxcs+") else [(" 01", " %d")]
        lacking += [] if given & set("mbBhjDFvxcs+") else [(" 01", " %m")]
    return "".join(text for text, _ in lacking), date_format + "".join(pattern for _, pattern in lacking)


def check_date_format(date_format: str) -> None:
    """Refuse a pattern that reads no date."""
    begin, pattern = ("", "%Y") if date_format == "iso" else whole_format(date_format)
    try:
        pl.select(pl.lit("2024" + begin).str.to_datetime(pattern, strict=False))
    except pl.exceptions.PolarsError as error:
        raise invalid("date_format", date_format, f"a pattern of a date ({first_line(error)})", "%d.%m.%Y") from None


def date_part(value: pl.Expr, part: DatePart) -> pl.Expr:
    """One part of a date as text: months from 1, weekdays from 1 (Monday), hours from 0."""
    found: pl.Expr = getattr(value.dt, part)()
    return found.cast(pl.String)
