"""The columns that own files become, fitted on the train rows; `llp.datasets.files.coder` applies them to any rows.

A categorical column becomes codes (values seen too seldom, and later unseen ones, share code 0; a missing value is a
value). A numeric column becomes a standardised number, quantile bins (code 0 where it is missing), or both. A date
becomes categorical columns of its parts.
"""

import itertools
import logging
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict

from llp.data.table import Column
from llp.datasets.encode import vocabulary
from llp.datasets.files.kinds import RawColumn
from llp.datasets.files.options import Coding, DatePart, FilesOptions
from llp.datasets.files.values import date, date_part, number, number_text, text
from llp.datasets.reading.options import Reading

log = logging.getLogger(__name__)

QUANTILE_ROWS = 2**20  # rows, evenly spaced, that the quantiles are taken from: memory does not grow with the rows

Vocabularies = Mapping[str, pl.Series]


class Feature(BaseModel):
    """One column of the table and how it comes from a raw one.

    Attributes
    ----------
    name : str
        In the table: the raw name, or with an ending: `price.bins`, `price.missing`, `day.month`, and a number behind
        that where a raw column is called so.
    column : str
        The raw column.
    value : {'text', 'missing', 'year', 'month', 'day', 'weekday', 'hour', 'bins', 'number'}
        What of it: its text, whether it is missing, a part of the date, its bin, its standardised number.
    numbers : bool
        Whether its texts are compared as numbers.
    edges : tuple of float
        Upper ends of all bins but the last one.
    mean, std : float
        What standardises a number: of the present values.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    column: str
    value: Literal["text", "missing", "bins", "number"] | DatePart
    numbers: bool = False
    edges: tuple[float, ...] = ()
    mean: float = 0.0
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
    lazy: pl.LazyFrame, planned: Sequence[Feature], options: FilesOptions
) -> tuple[list[Feature], dict[str, pl.Series]]:
    """Fit features on rows: vocabularies, means and standard deviations, edges of bins."""
    rows = lazy.select(pl.len()).collect(engine="streaming").item()
    every = -(-rows // QUANTILE_ROWS)
    kinds = lazy.collect_schema()
    fitted: list[Feature] = []
    vocabularies: dict[str, pl.Series] = {}
    for feature in planned:
        x = value_of(feature, kinds[feature.column], options).alias("value")
        if feature.has_vocabulary:
            counts = lazy.select(x).group_by("value").len().collect(engine="streaming")
            rare = options.coding.rare_threshold if feature.value == "text" else 0
            if feature.value == "text":
                of_text = kinds[feature.column] == pl.String
                known = counts["value"].drop_nulls()
                numbers = _are_numbers(known, options.reading) if of_text else kinds[feature.column].is_numeric()
                feature = feature.model_copy(update={"numbers": numbers})
                if of_text and numbers:
                    as_number = number_text(pl.col("value"), options.reading)
                    counts = counts.group_by(as_number).agg(pl.col("len").sum())
            vocabularies[feature.name] = vocabulary(counts, rare_at_most=rare)
            fitted.append(feature)
        elif feature.value == "bins":
            values = lazy.select(x).gather_every(every).collect(engine="streaming")["value"].drop_nulls().to_numpy()
            inner = np.arange(1, options.coding.bins) / options.coding.bins
            edges = np.unique(np.quantile(values, inner)).tolist() if len(values) else []
            fitted.append(feature.model_copy(update={"edges": tuple(edges)}))
        else:
            mean, std = _moments(lazy.select(x))
            fitted.append(feature.model_copy(update={"mean": mean, "std": std}))
    return fitted, vocabularies


def _are_numbers(values: pl.Series, reading: Reading) -> bool:
    """Whether distinct texts are numbers, no two of them one; 007 is none, and beside 3.1 neither is 3.10."""
    one = pl.col(values.name)
    is_number = number(values.name, pl.String(), reading).is_not_null() & ~one.str.contains(r"^[+-]?0\d")
    found = values.to_frame().select(all=is_number.all(), distinct=number_text(one, reading).n_unique()).row(0)
    return found == (True, len(values))


def _moments(lazy: pl.LazyFrame) -> tuple[float, float]:
    """Mean and standard deviation of a column; 0 and 1 where it has no value or does not vary."""
    mean = lazy.select(pl.col("value").mean()).collect(engine="streaming").item()
    if mean is None:
        return 0.0, 1.0
    square = lazy.select((pl.col("value") - mean).pow(2).mean()).collect(engine="streaming").item()
    return mean, float(np.sqrt(square)) or 1.0


def value_of(feature: Feature, kind: pl.DataType, options: FilesOptions) -> pl.Expr:
    """What of its raw column a feature is made of: text, or Float64."""
    name, reading = feature.column, options.reading
    if feature.value == "text":
        found = text(name, kind, reading)
        return number_text(found, reading) if feature.numbers and kind == pl.String else found
    if feature.value == "missing":
        return pl.col(name).is_null().cast(pl.String)
    if feature.value == "bins" or feature.value == "number":
        return number(name, kind, reading)
    return date_part(date(name, kind, date_format=options.coding.date_format), feature.value)


def table_columns(features: Sequence[Feature], vocabularies: Vocabularies) -> list[Column]:
    """The table's columns for fitted features."""
    columns = []
    for feature in features:
        if feature.has_vocabulary:
            size = len(vocabularies[feature.name]) + 1
            transform = "rare merged" if feature.value == "text" else feature.value
            columns.append(Column(feature.name, "categorical", size, transform))
        elif feature.value == "bins":
            columns.append(Column(feature.name, "categorical", len(feature.edges) + 2, "quantile bins"))
        else:
            columns.append(Column(feature.name, "numeric", None, "standardised"))
    return columns
