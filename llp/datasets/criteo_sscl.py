"""Criteo Sponsored Search Conversion Log: `CriteoSearchData` to an instance table.

A line holds 23 fields separated by tabs, -1 for what is missing. The clicks that led to a sale are kept; the label
is the sale's amount. Categorical values seen at most 5 times and missing ones share code 0; a missing number is the
mean of the column's non-negative ones (Brahma et al., LLP-Bench, arXiv 2310.10096).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import NonNegativeInt
from rich.progress import Progress

from llp.data.table import Column
from llp.data.table_writer import TableWriter
from llp.data.vocabulary import encoding
from llp.datasets.dialect import Field, Layout
from llp.datasets.encode import Category, encode, log2_squared
from llp.datasets.published import compare
from llp.datasets.staging import Coded, Staged, count_categories, facts_of, progress_bars, scratch, stage, write_coded

RAW_NUMBERS = {
    "sales_amount_in_euro": "Y",
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
    others={40: "Criteo CTR (dataset=criteo_ctr)"},
    keeps="sales (sales_amount_in_euro other than -1)",
)
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
    """Write the instance table of raw Criteo SSCL files.

    Parameters
    ----------
    folder, made_by, raw, errors
        As in `llp.datasets.criteo_ctr.prepare`.
    rare_at_most : int
        Categorical values seen at most this often, among the sales, share code 0.
    transform : {'log2_squared', 'none'}
        What happens to the numbers and the label, as in the reference (`x > 2` becomes log2(x)²) or in the paper.

    Raises
    ------
    InputError
        The raw files are missing, damaged, empty, or not of this format.
    """
    with scratch(folder) as parts, progress_bars() as progress:
        staged = stage(raw, LAYOUT, _keep, errors=errors, folder=parts, progress=progress)
        numbers = _numbers(staged)
        categories = count_categories(
            staged, CATEGORIES, rare_at_most=rare_at_most, missing_is_value=False, progress=progress
        )
        _write(folder, made_by, staged, numbers, categories, transform, progress)


class Number(NamedTuple):
    """A numeric column: the mean of its non-negative values, and how many rows miss a value."""

    mean: float
    missing: int


def _keep(frame: pl.DataFrame) -> pl.DataFrame:
    """The sales: numbers with null for a missing one, categorical values with null for a missing one."""
    numbers = [pl.col(raw).replace(-1.0, None).alias(name) for raw, name in RAW_NUMBERS.items()]
    texts = [pl.col(raw).replace("-1", None).alias(name) for raw, name in zip(RAW_CATEGORIES, CATEGORIES, strict=True)]
    return frame.filter(pl.col("sales_amount_in_euro") != -1).select(*numbers, *texts)


def _numbers(staged: Staged) -> dict[str, Number]:
    frame = pl.scan_ipc(staged.parts).select(RAW_NUMBERS.values()).collect()
    found = {}
    for name in frame.columns:
        values = frame[name].drop_nulls().to_numpy()
        known = values[values >= 0]
        found[name] = Number(float(known.mean()) if len(known) else 0.0, frame[name].null_count())
    return found


def _coded(
    parts: list[Path], numbers: Mapping[str, Number], categories: Mapping[str, Category], transform: str
) -> Coded:
    """Codes (m, 17), numbers (m, 3) and labels (m,) of some parts."""
    frame = pl.scan_ipc(parts).collect()
    codes = np.stack([encode(frame[name], c.known) for name, c in categories.items()], axis=1)
    values = np.stack([frame[name].fill_null(number.mean).to_numpy() for name, number in numbers.items()], axis=1)
    if transform == "log2_squared":
        values = log2_squared(values)
    return codes, values[:, 1:], values[:, 0]


def _write(
    folder: Path,
    made_by: Mapping[str, Any],
    staged: Staged,
    numbers: Mapping[str, Number],
    categories: Mapping[str, Category],
    transform: str,
    progress: Progress,
) -> None:
    columns = [Column(name, "numeric", None, transform) for name in numbers if name != "Y"]
    columns += [Column(name, "categorical", len(c.known) + 1, "rare merged") for name, c in categories.items()]
    with TableWriter(folder, columns, label_kind="real", rows=staged.rows) as writer:
        coded = partial(_coded, numbers=numbers, categories=categories, transform=transform)
        label_sum = write_coded(writer, staged, coded, progress)
        for name, number in numbers.items():
            record = encoding("number", missing=-1, fill=number.mean, transform=transform)
            writer.set_encoding("label" if name == "Y" else name, record)
        for name, category in categories.items():
            writer.set_vocabulary(name, category.known, missing=["", "-1"])
        missing = {name: number.missing for name, number in numbers.items() if name != "Y"}
        missing |= {name: c.missing for name, c in categories.items()}
        sizes = {name: len(c.known) + c.any_rare for name, c in categories.items()}
        published = compare("sscl", staged.rows, sizes, full_rows=FULL_ROWS, tolerance=FULL_ROWS_TOLERANCE)
        facts = facts_of(staged, label_sum, missing, published)
        writer.finish(made_by=made_by, source=staged.source, facts=facts)
