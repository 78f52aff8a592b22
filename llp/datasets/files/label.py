"""The label of own files, 0 and 1, a text that means 1, or real numbers, and the weights of their rows."""

import logging
from typing import NamedTuple

import polars as pl

from llp.data.table import LabelKind
from llp.datasets.files.options import Roles
from llp.datasets.files.values import canonical, number, text
from llp.datasets.reading.options import Reading
from llp.errors import InputError

log = logging.getLogger(__name__)

SHOWN = 5
FEW = 20  # different whole numbers up to which a label may be a class instead of an amount


class Label(NamedTuple):
    """A raw column as a label."""

    column: str
    kind: LabelKind
    positive: str | None  # the canonical text that means 1; None where the values are numbers

    def values(self, dtype: pl.DataType, reading: Reading) -> pl.Expr:
        """The label (n,) as Float64; null where it is missing."""
        if self.positive is None:
            return number(self.column, dtype, reading)
        return (text(self.column, dtype, reading) == self.positive).cast(pl.Float64)


def find_label(lazy: pl.LazyFrame, roles: Roles, reading: Reading) -> Label:
    """Find out what the label is, from all of its values: numbers, or texts of which one is said to be positive."""
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
        return _named(lazy, column, dtype, roles, reading)
    if found["numbers"] == found["present"]:
        binary = found["zero_one"] == found["present"]
        if not binary and roles.label_kind == "auto":
            _tell_real(lazy, column, as_number)
        if not binary and roles.label_kind == "binary":
            raise InputError(
                f"Invalid label_kind=binary: {column} holds other numbers than 0 and 1; write positive=VALUE"
            )
        kind: LabelKind = "binary" if binary else "real"
        return Label(column, kind if roles.label_kind == "auto" else roles.label_kind, None)
    values = _few_values(lazy, column, dtype, reading)
    if sorted(values) == ["false", "true"]:
        return Label(column, "binary", "true")
    shown = ", ".join(repr(value) for value in values[:SHOWN])
    raise InputError(
        f"Invalid label={column}: its values are no numbers ({shown}); say which one means 1, such as "
        f"positive={values[-1]!r}"
    )


def _few_values(lazy: pl.LazyFrame, column: str, dtype: pl.DataType, reading: Reading) -> list[str]:
    """The values' texts, most frequent first."""
    counts = lazy.select(text(column, dtype, reading).alias("value")).drop_nulls().group_by("value").len()
    return counts.collect(engine="streaming").sort(["len", "value"], descending=[True, False])["value"].to_list()


def _named(lazy: pl.LazyFrame, column: str, dtype: pl.DataType, roles: Roles, reading: Reading) -> Label:
    values = _few_values(lazy, column, dtype, reading)
    if roles.label_kind == "real":
        raise InputError(f"Invalid positive={roles.positive!r}: a label of label_kind=real has none; leave it out")
    positive = str(pl.select(canonical(pl.lit(roles.positive), reading)).item())
    if positive not in values:
        shown = ", ".join(repr(value) for value in values[:SHOWN])
        raise InputError(f"Invalid positive={roles.positive!r}: expected a value of {column}, which holds {shown}")
    if len(values) == 1:
        raise InputError(f"Invalid positive={roles.positive!r}: it is the only value of {column}")
    return Label(column, "binary", positive)


def _tell_real(lazy: pl.LazyFrame, column: str, as_number: pl.Expr) -> None:
    """Say that labels are taken as amounts; refuse two, and warn of few whole ones, which may be classes."""
    many = lazy.select(as_number.approx_n_unique()).collect(engine="streaming").item() > 2 * FEW
    found = as_number.drop_nulls().unique().sort().alias("value")
    values = [] if many else lazy.select(found).collect()["value"].to_list()
    if len(values) == 2:
        raise InputError(
            f"Invalid label={column}: its two values are {values[0]:g} and {values[1]:g}; say which one means 1, such "
            f"as positive={values[1]:g}, or write label_kind=real"
        )
    if many or len(values) > FEW or any(value % 1 for value in values):
        log.info("the labels in %r are taken as real numbers", column)
        return
    shown = ", ".join(f"{value:g}" for value in values[:SHOWN]) + (", ..." if len(values) > SHOWN else "")
    log.warning(
        "the labels in %r are taken as real numbers, though they are only %s: of classes, write the one that means 1, "
        "such as positive=%g; label_kind=real says that they are amounts", column, shown, values[-1],
    )  # fmt: skip


def check_weights(lazy: pl.LazyFrame, column: str, option: str, reading: Reading) -> None:
    """Refuse weights of `files` or `test_files`, as `option` says: a missing one, no number, one below 0, or all 0."""
    x = number(column, lazy.collect_schema()[column], reading)
    wrong = (x < 0).fill_null(True)
    example = pl.col(column).filter(wrong).first().cast(pl.String)
    found = (
        lazy.select(wrong=wrong.sum(), example=example, total=x.sum()).collect(engine="streaming").row(0, named=True)
    )
    if found["wrong"]:
        such = "a missing one" if found["example"] is None else repr(found["example"])
        raise InputError(
            f"Invalid weight_column={column}: {found['wrong']} of its values in {option} are no numbers from 0, such "
            f"as {such}"
        )
    if found["total"] == 0:
        raise InputError(f"Invalid weight_column={column}: all of its values in {option} are 0, expected one above it")
