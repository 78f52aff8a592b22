"""Criteo Sponsored Search Conversion Log: `CriteoSearchData` to an instance table.

23 fields, -1 for what is missing. Clicks that led to a sale are kept, the label is its amount. Values seen at most 5
times and missing ones share code 0; a missing number is the mean of the non-negative ones (LLP-Bench, arXiv
2310.10096).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import NonNegativeInt

from llp.data.table import Column, InstanceTable
from llp.data.table_place import scratch
from llp.data.vocabulary import encoding
from llp.datasets.encode import CodedLines, encode, log2_squared
from llp.datasets.published import compare
from llp.datasets.reading.files import Field
from llp.datasets.reading.layout import Layout
from llp.datasets.reading.stage import Staged
from llp.datasets.staging import Number, RawColumns, count_categories, progress_bars, stage, write_table

RAW_LABEL = "sales_amount_in_euro"
RAW_NUMBERS = {
    "time_delay_for_conversion": "N1",
    "nb_clicks_1week": "N2",
    "product_price": "N3",
}
RAW_CATEGORIES = (
    "product_age_group",
    "device_type",
    "audience_id",
    "product_gender",
    "product_brand",
    *(f"product_category_{i}" for i in range(1, 8)),
    "product_country",
    "product_id",
    "product_title",
    "partner_id",
    "user_id",
)
CATEGORIES = [f"C{i}" for i in range(1, len(RAW_CATEGORIES) + 1)]
LAYOUT = Layout(
    "criteo_sscl",
    (
        Field("sale", "0/1"),
        Field("sales_amount_in_euro", "number"),
        Field("time_delay_for_conversion", "number"),
        Field("click_timestamp", "number"),
        Field("nb_clicks_1week", "number"),
        Field("product_price", "number"),
        *(Field(name, "text") for name in RAW_CATEGORIES),
    ),
    spellings={
        "saleamountineuro|salesamount|y": "sales_amount_in_euro",
        "n1": "time_delay_for_conversion",
        "n2": "nb_clicks_1week",
        "n3": "product_price",
        "(?:product|prod)?category([0-9])": "product_category_{}",
        **{f"c{i}": name for i, name in enumerate(RAW_CATEGORIES, start=1)},
    },
    others={40: "Criteo CTR (dataset=criteo_ctr)", 39: "the unlabelled test.txt of Criteo CTR"},
    keeps="sales (sales_amount_in_euro other than -1)",
    label=("sale", RAW_LABEL),
    unused=("click_timestamp",),
)
MISSING = -1
FULL_ROWS, FULL_ROWS_TOLERANCE = 1_700_000, 0.05  # published as "about 1.7 million"


def prepare(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    raw: Sequence[str],
    errors: Literal["stop", "skip"],
    rare_at_most: NonNegativeInt,
    transform: Literal["log2_squared", "none"],
) -> None:
    """Write the table of raw files; `transform` of numbers and label as in the reference, or `none` as in the paper."""
    with scratch(folder) as parts, progress_bars() as progress:
        staged = stage(raw, LAYOUT, _keep, errors=errors, folder=parts, progress=progress)
        label, numbers = _numbers(staged, transform)
        categories = count_categories(
            staged, CATEGORIES, rare_at_most=rare_at_most, missing_is_value=False, progress=progress
        )
        fill = {name: number.encoding["fill"] for name, number in numbers.items()}
        coder = SsclCoder(fill, {name: c.known for name, c in categories.items()}, transform)
        columns = RawColumns(
            label_kind="real", label_encoding=label, numbers=numbers, categories=categories,
            as_text=lambda known: known, missing=["", str(MISSING)],
            published=partial(compare, "sscl", staged.rows, full_rows=FULL_ROWS, tolerance=FULL_ROWS_TOLERANCE),
        )  # fmt: skip
        label_of = partial(_filled, fill=label["fill"], transform=transform)
        write_table(folder, made_by, staged, coder.encode, lambda frame: label_of(frame["Y"]), columns, progress)


def _present(raw: str, name: str, missing: float | str) -> pl.Expr:
    return pl.col(raw).replace(missing, None).alias(name)


@dataclass(frozen=True)
class SsclCoder:
    """Codes lines, those of a table's file and new ones alike; threads may share it."""

    layout: ClassVar[Layout] = LAYOUT
    features: ClassVar[list[pl.Expr]] = [
        *(_present(raw, name, float(MISSING)) for raw, name in RAW_NUMBERS.items()),
        *(_present(raw, name, str(MISSING)) for raw, name in zip(RAW_CATEGORIES, CATEGORIES, strict=True)),
    ]

    fill: Mapping[str, float]  # by numeric column, what a missing number becomes
    known: Mapping[str, pl.Series]  # by categorical column, the values of codes 1, 2, ...
    transform: str  # of the numbers: log2_squared or none

    @classmethod
    def of_table(cls, table: InstanceTable) -> Self:
        """The coder that coded the lines of a table."""
        records = {name: table.encoding(name) for name in RAW_NUMBERS.values()}
        (transform,) = {record["transform"] for record in records.values()}
        fill = {name: record["fill"] for name, record in records.items()}
        return cls(fill, {name: table.vocabulary(name)["value"] for name in CATEGORIES}, transform)

    def encode(self, frame: pl.DataFrame) -> CodedLines:
        """Codes and numbers of lines with the columns `features`."""
        codes = np.stack([encode(frame[name], known) for name, known in self.known.items()], axis=1)
        numbers = np.stack([_filled(frame[name], fill, self.transform) for name, fill in self.fill.items()], axis=1)
        return CodedLines(codes, numbers, outside=0)


def _filled(values: pl.Series, fill: float, transform: str) -> NDArray[np.float64]:
    filled = values.fill_null(fill).to_numpy()
    return log2_squared(filled) if transform == "log2_squared" else filled


def _keep(frame: pl.DataFrame) -> pl.DataFrame:
    """The sales: numbers with null for a missing one, categorical values with null for a missing one."""
    return frame.filter(pl.col(RAW_LABEL) != MISSING).select(
        _present(RAW_LABEL, "Y", float(MISSING)), *SsclCoder.features
    )


def _numbers(staged: Staged, transform: str) -> tuple[dict[str, Any], dict[str, Number]]:
    """How the label is made, and the numbers; a missing one is the mean of the column's non-negative values."""
    frame = staged.lazy.select("Y", *RAW_NUMBERS.values()).collect()
    records = {}
    for name in frame.columns:
        values = frame[name].drop_nulls().to_numpy()
        known = values[values >= 0]
        mean = float(known.mean()) if len(known) else 0.0
        records[name] = encoding("number", missing=MISSING, fill=mean, transform=transform)
    return records.pop("Y"), {
        name: Number(Column(name, "numeric", None, transform), record, frame[name].null_count())
        for name, record in records.items()
    }
