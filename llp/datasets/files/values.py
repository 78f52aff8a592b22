"""A raw column as text, as a number or as a date: polars expressions that every use of own files shares."""

from collections.abc import Callable

import polars as pl

from llp.datasets.files.options import DECIMALS, THOUSANDS, DatePart, Reading

ISO = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")
BETWEEN_BAGS = "|"
SECONDS = len("2013-01-31 23:59:59")


def text(column: str, kind: pl.DataType) -> pl.Expr:
    """The column's values as text."""
    return pl.col(column) if kind == pl.String else pl.col(column).cast(pl.String)


def bags_of(
    column: str, kind: pl.DataType, *, overlap: bool, known_as: Callable[[pl.Expr], pl.Expr] = lambda ids: ids
) -> pl.Expr:
    """The bags of each row, a list of their ids: the text, or with `overlap` those between which | stands.

    Parameters
    ----------
    column : str
        Names the bags.
    kind : pl.DataType
        Its type.
    overlap : bool
        Whether a row may be in several bags.
    known_as : callable
        What becomes of an id; null leaves it out.
    """
    ids = text(column, kind)
    if not overlap:
        return pl.concat_list(known_as(ids)).list.drop_nulls()
    one = pl.element().str.strip_chars()
    several = ids.fill_null("").str.split(BETWEEN_BAGS).list.eval(known_as(pl.when(one != "").then(one)))
    return several.list.drop_nulls().list.unique(maintain_order=True)


def grouped(thousands: str, decimal: str) -> str:
    """A pattern of numbers with a mark between their thousands: 5,300 and 1,234,567.8 for comma and point."""
    return rf"[+-]?\d{{1,3}}({THOUSANDS[thousands]}\d{{3}})+({DECIMALS[decimal]}\d*)?"


def number(column: str, kind: pl.DataType, reading: Reading) -> pl.Expr:
    """The column's values as finite Float64; null where there is none."""
    x = pl.col(column)
    if kind == pl.String:
        if reading.thousands != "none":
            groups = x.str.contains(f"^{grouped(reading.thousands, reading.decimal)}$")
            others = pl.when(~x.str.contains(".", literal=True)).then(x) if reading.thousands == "point" else x
            x = pl.when(groups).then(x.str.replace_all(THOUSANDS[reading.thousands], "")).otherwise(others)
        x = x.str.replace(",", ".", literal=True) if reading.decimal == "comma" else x
        x = x.cast(pl.Float64, strict=False)
        return pl.when(x.is_finite()).then(x)
    return x.cast(pl.Float64) if kind.is_numeric() else pl.lit(None, pl.Float64)


def date(column: str, kind: pl.DataType, *, date_format: str) -> pl.Expr:
    """The column's values as dates with times; null where there is none."""
    x = pl.col(column)
    if kind == pl.String:
        if date_format != "iso":
            return x.str.to_datetime(date_format, strict=False)
        iso = x.str.slice(0, SECONDS).str.replace("T", " ", literal=True)
        return pl.coalesce(iso.str.to_datetime(one, strict=False) for one in ISO)
    return x.cast(pl.Datetime) if kind.is_temporal() else pl.lit(None, pl.Datetime)


def date_part(value: pl.Expr, part: DatePart) -> pl.Expr:
    """One part of a date as text: months from 1, weekdays from 1 (Monday), hours from 0."""
    found: pl.Expr = getattr(value.dt, part)()
    return found.cast(pl.String)
