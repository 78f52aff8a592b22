"""The label of own files: 0 and 1, a text that means 1, or real numbers."""

from typing import NamedTuple

import polars as pl

from llp.data.table import LabelKind
from llp.datasets.files.options import Reading, Roles
from llp.datasets.files.values import number, text
from llp.errors import InputError

SHOWN = 5


class Label(NamedTuple):
    """How a raw column becomes a label.

    Attributes
    ----------
    column : str
        Its name.
    kind : {'binary', 'real'}
        What it becomes.
    positive : str or None
        The text that means 1; None where the values are numbers.
    """

    column: str
    kind: LabelKind
    positive: str | None

    def values(self, dtype: pl.DataType, reading: Reading) -> pl.Expr:
        """The label (n,) as Float64; null where it is missing."""
        if self.positive is None:
            return number(self.column, dtype, reading)
        if dtype.is_numeric():
            return (pl.col(self.column) == float(self.positive)).cast(pl.Float64)
        return (text(self.column, dtype) == self.positive).cast(pl.Float64)


def find_label(lazy: pl.LazyFrame, roles: Roles, reading: Reading) -> Label:
    """Find out what the label is, from all of its values.

    Raises
    ------
    InputError
        It is neither numbers nor two values one of which is said to be positive.
    """
    column = roles.label
    assert column is not None
    dtype = lazy.collect_schema()[column]
    x = pl.col(column)
    as_number = number(column, dtype, reading)
    counted = lazy.select(
        present=x.count(),
        numbers=as_number.count(),
        zero_one=as_number.is_in([0.0, 1.0]).sum(),
        first=x.filter(x.is_not_null() & as_number.is_null()).first().cast(pl.String),
    )
    found = counted.collect(engine="streaming").row(0, named=True)
    if found["present"] == 0:
        raise InputError(f"Invalid label={column}: the column has no value")
    if roles.positive is not None:
        return _named(lazy, column, dtype, roles)
    if found["numbers"] == found["present"]:
        binary = found["zero_one"] == found["present"]
        if not binary and roles.label_kind == "auto":
            _check_two_numbers(lazy, column)
        return Label(column, _kind(roles, binary, column), None)
    values = _few_values(lazy, column, dtype)
    if sorted(value.lower() for value in values) == ["false", "true"]:
        return Label(column, "binary", next(value for value in values if value.lower() == "true"))
    shown = ", ".join(repr(value) for value in values[:SHOWN])
    raise InputError(
        f"Invalid label={column}: its values are no numbers ({shown}); say which one means 1, such as "
        f"positive={values[-1]!r}"
    )


def _kind(roles: Roles, binary: bool, column: str) -> LabelKind:
    if roles.label_kind == "auto":
        return "binary" if binary else "real"
    if roles.label_kind == "binary" and not binary:
        raise InputError(f"Invalid label_kind=binary: {column} holds other numbers than 0 and 1; write positive=VALUE")
    return roles.label_kind


def _few_values(lazy: pl.LazyFrame, column: str, dtype: pl.DataType) -> list[str]:
    """The most frequent values, most frequent first."""
    counts = lazy.select(text(column, dtype).alias("value")).drop_nulls().group_by("value").len()
    return counts.collect(engine="streaming").sort(["len", "value"], descending=[True, False])["value"].to_list()


def _named(lazy: pl.LazyFrame, column: str, dtype: pl.DataType, roles: Roles) -> Label:
    values = _few_values(lazy, column, dtype)
    if roles.label_kind == "real":
        raise InputError(f"Invalid positive={roles.positive!r}: a label of label_kind=real has none; leave it out")
    if dtype.is_numeric():
        values = [f"{float(value):g}" for value in values]
    if roles.positive not in values:
        shown = ", ".join(repr(value) for value in values[:SHOWN])
        raise InputError(f"Invalid positive={roles.positive!r}: expected a value of {column}, which holds {shown}")
    if len(values) == 1:
        raise InputError(f"Invalid positive={roles.positive!r}: it is the only value of {column}")
    return Label(column, "binary", roles.positive)


def _check_two_numbers(lazy: pl.LazyFrame, column: str) -> None:
    if lazy.select(pl.col(column).drop_nulls().approx_n_unique()).collect(engine="streaming").item() <= 3:
        values = lazy.select(pl.col(column).drop_nulls().unique().sort()).collect()[column].to_list()
        if len(values) == 2:
            raise InputError(
                f"Invalid label={column}: its two values are {values[0]} and {values[1]}; say which one means 1, such "
                f"as positive={values[1]}, or write label_kind=real"
            )
