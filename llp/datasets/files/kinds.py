"""The kind of each column of own files: given by the user, or inferred from all of its values.

Numbers are numeric, dates dates, everything else is categorical. A text column whose numbers begin with zeros (postal
codes) is categorical.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Literal, NamedTuple

import polars as pl
from rich.table import Table

from llp.data.schema import LARGEST_NUMBER
from llp.datasets.files.options import FilesOptions, Roles
from llp.datasets.files.values import date, grouped, raw_number
from llp.datasets.reading.options import DECIMALS, THOUSANDS, Reading
from llp.errors import InputError

ColumnKind = Literal["categorical", "numeric", "date"]
MANY = 1000  # different values from which on a column in which nearly all differ is pointed out
SHOWN = 3
OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b.*")
FIRST_ROWS = 1000  # that show which columns cannot be of dates, or of numbers
COUNTED_EXACTLY = 2**20  # rows up to which the different values of a column are not estimated


class RawColumn(NamedTuple):
    """A raw column: its kind, who says so, and what its values look like."""

    name: str
    kind: ColumnKind
    given: bool
    values: int
    missing: int
    examples: tuple[str, ...]
    note: str


def check_names(columns: Sequence[str], roles: Roles) -> None:
    """Refuse options that name columns which are not there, and names of columns that mean several in polars."""
    for option, name in roles.named:
        if name not in columns and option != "ignore":  # other files may have that one
            raise InputError(f"Invalid {option}={name}: the files have no such column; they have {', '.join(columns)}")
    for name in set(columns) - set(roles.ignore):
        if name == "*" or "\0" in name or (name.startswith("^") and name.endswith("$")):
            raise InputError(
                f"column {name!r} has a name that means other columns: rename it, or write ignore=['{name}']"
            )
    if not set(columns) - set(roles.not_features):
        raise InputError(
            "no column is left for the features: every one is the label, ignored, an id, a weight or a bag"
        )


def find_kinds(
    lazy: pl.LazyFrame, options: FilesOptions, place: Callable[[int], str] = "row {}".format
) -> list[RawColumn]:
    """The kinds of the feature columns of all rows, in the files' order; `place` says where a row, from 0, stands.

    Refuses a column said to be numeric, or a date, that holds other values, and an infinite or huge number.
    """
    schema = lazy.collect_schema()
    names = [name for name in schema.names() if name not in options.roles.not_features]
    found = _counts(lazy, {name: schema[name] for name in names}, options)
    for name in names:
        if found[name].huge and name not in (*options.roles.categorical, *options.roles.dates):
            _check_huge(lazy, name, found[name], options.reading, place)
    return [_column(name, schema[name], found[name], options.roles, options.reading) for name in names]


class _Counts(NamedTuple):
    """Of a column: how many values there are, miss, are numbers, begin with a zero, are dates; and examples.

    `dates`, `huge` and `zeros` are counted where the first rows leave it open that all values are dates, or numbers.
    """

    values: int
    missing: int
    numbers: int
    no_number: str | None
    huge: int
    zeros: int
    dates: int
    no_date: str | None
    rows: int
    first: tuple[str, ...]


def _counts(lazy: pl.LazyFrame, schema: Mapping[str, pl.DataType], options: FilesOptions) -> dict[str, _Counts]:
    exact = lazy.select(pl.len()).collect(engine="streaming").item() <= COUNTED_EXACTLY
    head = lazy.head(FIRST_ROWS).collect()
    values, wanted, firsts = list[pl.Expr](), [pl.len()], dict[str, tuple[str, ...]]()
    for i, (name, kind) in enumerate(schema.items()):
        x, number, when = pl.col(name), pl.col(f"{i}\0number"), pl.col(f"{i}\0date")
        as_number = raw_number(name, kind, options.reading)
        as_date = date(name, kind, date_format=options.coding.date_format)
        first = head.select(x, as_number.alias("\0number"), as_date.alias("\0date")).drop_nulls(name)
        firsts[name] = tuple(first[name].unique(maintain_order=True).cast(pl.String).to_list())
        dates = name in options.roles.dates or not first["\0date"].has_nulls()
        numbers = not first["\0number"].has_nulls()
        values += [as_number.alias(f"{i}\0number"), (as_date if dates else pl.lit(None)).alias(f"{i}\0date")]
        fits, zeros = number.abs() <= LARGEST_NUMBER, x.str.contains(r"^[+-]?0\d") if kind == pl.String else None
        wanted += [one.alias(f"{i}\0{j}") for j, one in enumerate([
            x.n_unique() if exact else x.approx_n_unique(),
            x.null_count(),
            fits.sum(),
            x.filter(x.is_not_null() & ~fits.fill_null(False)).first().cast(pl.String),
            (~fits).sum() if numbers else pl.lit(0),
            zeros.sum() if numbers and zeros is not None else pl.lit(0),
            when.count(),
            x.filter(x.is_not_null() & when.is_null()).first().cast(pl.String),
        ])]  # fmt: skip
    rows, *counted = lazy.with_columns(values).select(wanted).collect(engine="streaming").row(0)
    of_each = zip(*[iter(counted)] * 8, strict=True)
    return {
        name: _Counts._make((different - (missing > 0), missing, *others, rows, firsts[name]))
        for name, (different, missing, *others) in zip(schema, of_each, strict=True)
    }


def _column(name: str, dtype: pl.DataType, found: _Counts, roles: Roles, reading: Reading) -> RawColumn:
    present = found.rows - found.missing
    if name in roles.numeric:
        if found.numbers < present:
            raise InputError(
                f"Invalid numeric={name}: {present - found.numbers} of its values are no numbers, such as "
                f"{found.no_number!r}; write categorical=[{name}], or missing=[...] if they mean a missing value"
            )
        kind: ColumnKind = "numeric"
    elif name in roles.dates:
        if found.dates < present:
            raise InputError(
                f"Invalid dates={name}: {present - found.dates} of its values are no dates, such as "
                f"{found.no_date!r}; say how they are written, such as date_format=%d.%m.%Y"
            )
        kind = "date"
    elif name in roles.categorical or present == 0:
        kind = "categorical"
    elif found.dates == present:
        kind = "date"
    elif found.numbers == present and not found.zeros:
        kind = "numeric"
    else:
        kind = "categorical"
    given = name in (*roles.numeric, *roles.dates, *roles.categorical)
    note = _note(kind, found, present, reading)
    return RawColumn(name, kind, given, found.values, found.missing, found.first[:SHOWN], note)


def _check_huge(lazy: pl.LazyFrame, name: str, found: _Counts, reading: Reading, place: Callable[[int], str]) -> None:
    """Refuse a number beyond what a table can hold in a column of numbers, and say where the first is."""
    if found.numbers + found.huge < found.rows - found.missing:
        return
    x = raw_number(name, lazy.collect_schema()[name], reading)
    values = lazy.select(value=pl.col(name).cast(pl.String), huge=x.abs() > LARGEST_NUMBER).with_row_index("row")
    row, value, _ = values.filter("huge").head(1).collect(engine="streaming").row(0)
    raise InputError(
        f"{place(row)}: column {name!r} holds {value}, but a number of a table lies within ±{LARGEST_NUMBER:.3g}; "
        f"correct it, leave it empty if it is missing, or take the column's values as texts with categorical=[{name}]"
    )


def _note(kind: ColumnKind, found: _Counts, present: int, reading: Reading) -> str:
    if present == 0:
        return "no value at all"
    if found.values <= 1:
        return "one value only"
    written = _written_as(found.first)
    if kind == "categorical" and written and found.numbers < present:
        return f"numbers? {' or '.join(written)}"
    if kind == "numeric" and reading.decimal == "comma" and "thousands=comma" in written:
        example = next(one for one in found.first if "," in one)
        return f"{example} is {example.replace(',', '.')}, or {example.replace(',', '')}? thousands=comma"
    if kind == "categorical" and _all_like(OTHER_DATE, found.first[:SHOWN]):
        return "dates? date_format=%d.%m.%Y or alike"
    if kind == "categorical" and found.values > MANY and found.values > 0.9 * present:
        return "nearly all values differ: an id?"
    if kind == "categorical" and found.numbers and found.numbers == present:
        return "numbers"
    if kind == "categorical" and found.numbers > present / 2:
        return f"mostly numbers; not {found.no_number!r}"
    if kind == "categorical" and found.dates > present / 2:
        return f"mostly dates; not {found.no_date!r}"
    return ""


def _written_as(values: Sequence[str]) -> list[str]:
    """The options, each in use, with which all of some texts are numbers: `decimal=comma`, `thousands=comma`, ..."""
    found = []
    for decimal, thousands in product(DECIMALS, ("none", *THOUSANDS)):
        if decimal == thousands:
            continue
        point, in_groups = DECIMALS[decimal], "" if thousands == "none" else grouped(thousands, decimal)
        if not _all_like(re.compile(rf"[+-]?(\d+({point}\d*)?|{point}\d+)|{in_groups}"), values):
            continue
        uses_comma = decimal == "comma" and (thousands == "point" or any("," in value for value in values))
        uses_thousands = any(re.fullmatch(in_groups, value) for value in values)
        if uses_comma >= (decimal == "comma") and uses_thousands >= (thousands != "none"):
            words = ["decimal=comma"] * uses_comma + [f"thousands={thousands}"] * uses_thousands
            found.append(" ".join(words))
    return [words for words in found if words]


def _all_like(pattern: re.Pattern[str], examples: Sequence[str]) -> bool:
    return len(examples) > 0 and all(pattern.fullmatch(one) for one in examples)


def kinds_table(columns: Sequence[RawColumn], rows: int) -> Table:
    """The kinds for the user to look at."""
    shown = Table(title="Kinds of the columns")
    for name in ("column", "kind", "values", "missing", "such as", "note"):
        shown.add_column(name, overflow="fold")  # an option is shown whole in a narrow terminal too
    for one in columns:
        kind = one.kind + (" (given)" if one.given else "")
        share = f"{one.missing / rows:.2%}" if one.missing else ""
        shown.add_row(one.name, kind, f"{one.values:,}", share, ", ".join(one.examples), one.note)
    return shown
