"""The columns that own files become, fitted on the train rows; `llp.datasets.files.recipe` applies them to any rows."""

import itertools
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict

from llp.datasets.encode import vocabulary
from llp.datasets.files.kinds import RawColumn
from llp.datasets.files.options import Coding, DatePart, FilesOptions
from llp.datasets.files.values import date, date_part, number, number_text, text
from llp.datasets.reading.options import Reading
from llp.datasets.reading.stage import in_order

log = logging.getLogger(__name__)

QUANTILE_ROWS = 2**20  # rows, evenly spaced, that the quantiles are taken from: memory does not grow with the rows

Vocabularies = Mapping[str, pl.Series]


class Feature(BaseModel):
    """One column of the table: of which raw one, and what of its value (text, missing, bin, number, date part)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    column: str  # the raw one
    value: Literal["text", "missing", "bins", "number"] | DatePart
    numbers: bool = False  # texts are compared as numbers
    edges: tuple[float, ...] = ()  # upper ends of all bins but the last one
    mean: float = 0.0  # of the present values: what standardises a number
    std: float = 1.0

    @property
    def has_vocabulary(self) -> bool:
        """Whether its codes are places in a vocabulary."""
        return self.value not in ("bins", "number")


def plan_features(columns: Sequence[RawColumn], coding: Coding) -> list[Feature]:
    """The features that raw columns become, before they are fitted; their names differ, and from the raw columns'."""
    names = {one.name for one in columns}

    def made(column: str, value: DatePart | Literal["missing", "bins"]) -> Feature:
        wished = f"{column}.{value}"
        name = next(name for i in itertools.count(1) if (name := wished + f".{i}" * (i > 1)) not in names)
        if name != wished:
            log.warning("the files have a column %r, so what is made of %r is called %r", wished, column, name)
        names.add(name)
        return Feature(name=name, column=column, value=value)

    planned: list[Feature] = []
    for one in columns:
        if one.kind == "categorical":
            planned.append(Feature(name=one.name, column=one.name, value="text"))
        elif one.kind == "date":
            planned += [made(one.name, part) for part in dict.fromkeys(coding.date_parts)]
        elif coding.numeric_as == "bins":
            planned.append(Feature(name=one.name, column=one.name, value="bins"))
        else:
            planned.append(Feature(name=one.name, column=one.name, value="number"))
            if coding.numeric_as == "both":
                planned.append(made(one.name, "bins"))
            elif coding.missing_as == "indicator" and one.missing:
                planned.append(made(one.name, "missing"))
    return planned


def fit_features(
    lazy: pl.LazyFrame, planned: Sequence[Feature], options: FilesOptions, *, whole: Collection[str] = ()
) -> tuple[list[Feature], dict[str, pl.Series]]:
    """Fit vocabularies, means, deviations, bins on rows; in columns `whole` every value has a code."""
    kinds = lazy.collect_schema()
    values = {one.name: value_of(one, kinds[one.column], options).alias("value") for one in planned}
    moments = _moments(lazy.select(values[one.name].alias(one.name) for one in planned if one.value == "number"))
    hours: dict[str, pl.DataFrame] = {}
    fitted: list[Feature] = []
    vocabularies: dict[str, pl.Series] = {}
    for feature in planned:
        of_value, found = lazy.select(values[feature.name]), dict[str, object]()
        if feature.value == "number":
            found["mean"], found["std"] = moments[feature.name]
        elif feature.value == "bins":
            found["edges"] = _edges(of_value, options.coding.bins)
        elif feature.value == "text":
            raw = lazy.select(value=feature.column)
            counts, found["numbers"] = _text_counts(raw, kinds[feature.column], options.reading)
            rare = 0 if feature.column in whole else options.coding.rare_threshold
            vocabularies[feature.name] = vocabulary(counts, rare_at_most=rare)
        elif feature.value == "missing":
            vocabularies[feature.name] = vocabulary(_counts(of_value), rare_at_most=0)
        else:
            if feature.column not in hours:
                at = date(feature.column, kinds[feature.column], date_format=options.coding.date_format)
                hours[feature.column] = _counts(lazy.select(value=at.dt.truncate("1h")))
            part = date_part(pl.col("value"), feature.value)
            counts = hours[feature.column].group_by(part).agg(pl.col("len").sum())
            vocabularies[feature.name] = vocabulary(counts, rare_at_most=0)
        fitted.append(feature.model_copy(update=found))
    return fitted, vocabularies


def _counts(value: pl.LazyFrame) -> pl.DataFrame:
    return value.group_by("value").len().collect(engine="streaming")


def _text_counts(raw: pl.LazyFrame, kind: pl.DataType, reading: Reading) -> tuple[pl.DataFrame, bool]:
    """Counts of each text, and whether all are numbers, which are counted as such; 007 and 3.10 beside 3.1 are none."""
    counts = _counts(raw).group_by(text("value", kind, reading)).agg(pl.col("len").sum())
    if kind != pl.String:
        return counts, kind.is_numeric()
    known, as_number = counts.drop_nulls("value"), number_text(pl.col("value"), reading)
    is_number = number("value", pl.String(), reading).is_not_null() & ~pl.col("value").str.contains(r"^[+-]?0\d")
    if known.select(all=is_number.all(), distinct=as_number.n_unique()).row(0) != (True, known.height):
        return counts, False
    return counts.group_by(as_number).agg(pl.col("len").sum()), True


def _edges(value: pl.LazyFrame, bins: int) -> tuple[float, ...]:
    rows = value.select(pl.len()).collect(engine="streaming").item()
    some = value.gather_every(-(-rows // QUANTILE_ROWS)).collect(engine="streaming")["value"].drop_nulls().to_numpy()
    return tuple(np.unique(np.quantile(some, np.arange(1, bins) / bins)).tolist()) if len(some) else ()


def _moments(numbers: pl.LazyFrame) -> dict[str, tuple[float, float]]:
    """Means and standard deviations of columns; 0 and 1 where one has no value or does not vary."""
    mean = _means(numbers)
    square = _means(numbers.select((pl.col(name) - at).pow(2) for name, at in mean.items()))
    return {name: (at, float(np.sqrt(square[name])) or 1.0) for name, at in mean.items()}


def _means(numbers: pl.LazyFrame) -> dict[str, float]:
    """Means of columns, 0 where one has no value."""
    names = numbers.collect_schema().names()
    total, count = np.zeros(len(names)), np.zeros(len(names))
    for block in in_order(numbers):
        total, count = total + block.sum().to_numpy()[0], count + block.count().to_numpy()[0]
    return dict(zip(names, (total / np.maximum(count, 1)).tolist(), strict=True))


def value_of(feature: Feature, kind: pl.DataType, options: FilesOptions) -> pl.Expr:
    """The expression of its raw column that a feature is made of: text, or Float64."""
    name, reading = feature.column, options.reading
    if feature.value == "text":
        found = text(name, kind, reading)
        return number_text(found, reading) if feature.numbers and kind == pl.String else found
    if feature.value == "missing":
        return pl.col(name).is_null().cast(pl.String)
    if feature.value == "bins" or feature.value == "number":
        return number(name, kind, reading)
    return date_part(date(name, kind, date_format=options.coding.date_format), feature.value)
