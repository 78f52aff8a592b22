"""The columns that own files become, fitted on the train rows; `llp.datasets.files.coder` applies them to any rows.

A categorical column becomes codes (values seen too seldom, and later unseen ones, share code 0; a missing value is a
value). A numeric column becomes a standardised number, quantile bins (code 0 where it is missing), or both. A date
becomes categorical columns of its parts.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict

from llp.data.table import Column
from llp.datasets.encode import vocabulary
from llp.datasets.files.kinds import RawColumn
from llp.datasets.files.options import Coding, DatePart, FilesOptions
from llp.datasets.files.values import date, date_part, number, text

QUANTILE_ROWS = 2**20  # rows, evenly spaced, that the quantiles are taken from: memory does not grow with the rows

Vocabularies = Mapping[str, pl.Series]


class Feature(BaseModel):
    """One column of the table and how it comes from a raw one.

    Attributes
    ----------
    name : str
        In the table: the raw name, or with an ending: `price.bins`, `price.missing`, `day.month`.
    column : str
        The raw column.
    value : {'text', 'missing', 'year', 'month', 'day', 'weekday', 'hour', 'bins', 'number'}
        What of it: its text, whether it is missing, a part of the date, its bin, its standardised number.
    edges : tuple of float
        Upper ends of all bins but the last one.
    mean, std : float
        What standardises a number: of the present values.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    column: str
    value: Literal["text", "missing", "bins", "number"] | DatePart
    edges: tuple[float, ...] = ()
    mean: float = 0.0
    std: float = 1.0

    @property
    def has_vocabulary(self) -> bool:
        """Whether its codes are places in a vocabulary."""
        return self.value not in ("bins", "number")


def plan_features(columns: Sequence[RawColumn], coding: Coding) -> list[Feature]:
    """The features that raw columns become, before they are fitted."""
    planned: list[Feature] = []
    for one in columns:
        if one.kind == "categorical":
            planned.append(Feature(name=one.name, column=one.name, value="text"))
        elif one.kind == "date":
            planned += [Feature(name=f"{one.name}.{part}", column=one.name, value=part) for part in coding.date_parts]
        else:
            planned += _number_features(one, coding)
    return planned


def _number_features(one: RawColumn, coding: Coding) -> list[Feature]:
    name, found = one.name, []
    if coding.numeric_as != "bins":
        found.append(Feature(name=name, column=name, value="number"))
        if coding.numeric_as == "standardised" and coding.missing_as == "indicator" and one.missing:
            found.append(Feature(name=f"{name}.missing", column=name, value="missing"))
    if coding.numeric_as != "standardised":
        own = name if coding.numeric_as == "bins" else f"{name}.bins"
        found.append(Feature(name=own, column=name, value="bins"))
    return found


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


def _moments(lazy: pl.LazyFrame) -> tuple[float, float]:
    """Mean and standard deviation of a column; 0 and 1 where it has no value or does not vary."""
    mean = lazy.select(pl.col("value").mean()).collect(engine="streaming").item()
    if mean is None:
        return 0.0, 1.0
    square = lazy.select((pl.col("value") - mean).pow(2).mean()).collect(engine="streaming").item()
    return mean, float(np.sqrt(square)) or 1.0


def value_of(feature: Feature, kind: pl.DataType, options: FilesOptions) -> pl.Expr:
    """What of its raw column a feature is made of: text, or Float64."""
    name = feature.column
    if feature.value == "text":
        return text(name, kind)
    if feature.value == "missing":
        return pl.col(name).is_null().cast(pl.String)
    if feature.value == "bins" or feature.value == "number":
        return number(name, kind, options.reading)
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
