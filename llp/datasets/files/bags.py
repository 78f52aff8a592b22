"""Given bags of own files: a column of bag ids, and perhaps a second file with each one's label_sum or label_mean."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import polars as pl

from llp.data.given_bags import ROUNDING, check_sums
from llp.data.table import LabelKind
from llp.datasets.files.read import FilesReader
from llp.datasets.files.values import BETWEEN_BAGS, number, raw_number, text
from llp.datasets.reading.files import Files
from llp.datasets.reading.find import find_files
from llp.datasets.reading.options import Reading
from llp.datasets.reading.records import BadLines
from llp.errors import InputError, further

log = logging.getLogger(__name__)

LABELS = ("label_sum", "label_mean")
SIZE = "size"
SHOWN = 3

Sizes = Literal["check", "trust_rows"]
Unmatched = Literal["stop", "drop"]


@dataclass(frozen=True)
class StatedBags:
    """Bags that a file states: `id` (text), `label_sum` or `label_mean`, and `size`, null where it is not stated."""

    frame: pl.DataFrame
    label: str  # which of label_sum and label_mean the frame has

    @property
    def label_kind(self) -> LabelKind:
        """Binary where every mean may lie in [0, 1], or most do and all look like counts, else real."""
        value = self.frame[self.label].to_numpy()
        size = self.frame["size"].fill_null(float("inf")).to_numpy() if self.label == "label_sum" else 1.0
        possible = (value >= 0) & (value <= size)
        like_binary = (value == np.floor(value)).all() if self.label == "label_sum" else (value >= 0).all()
        return "binary" if possible.all() or (like_binary and possible.mean() > 0.5) else "real"

    @property
    def may_be_percentages(self) -> bool:
        """Whether the stated means lie in 0 to 100, and not in 0 to 1."""
        value = self.frame[self.label]
        return self.label == "label_mean" and bool(value.is_between(0, 100).all() and (value > 1).any())


def read_bags(names: Sequence[str], bag_column: str, reading: Reading) -> StatedBags:
    """Read the files of bags; refuses a bag that stands twice, and labels and sizes that are no numbers."""
    files = Files(find_files(names, option="bags"), lambda n: None)
    as_written = reading.model_copy(update={"columns": None, "header": "auto"})
    stop = BadLines("stop", may_skip=False)
    reader = FilesReader(files, as_written, stop, partial(_columns, bag_column=bag_column))
    frame = pl.concat(reader.frames())
    (label,) = (name for name in LABELS if name in frame.columns)
    size = number(SIZE, frame.schema[SIZE], reading) if SIZE in frame.columns else pl.lit(None, pl.Float64)
    stated = frame.select(
        text(bag_column, frame.schema[bag_column], reading).alias("id"),
        raw_number(label, frame.schema[label], reading).alias(label),
        size.alias(SIZE),
    )
    for name in [label, *([SIZE] if SIZE in frame.columns else [])]:
        if wrong := stated.filter(pl.col(name).is_null())["id"].to_list():
            raise InputError(f"{reader.first}: {name} of bag {wrong[0]!r} is no number{further(len(wrong))}")
    if twice := stated.filter(pl.col("id").is_duplicated())["id"].unique().sort().to_list():
        raise InputError(f"{reader.first}: bag {twice[0]!r} stands twice{further(len(twice))}; write one row per bag")
    return StatedBags(stated, label)


def _columns(path: str, columns: list[str], bag_column: str) -> list[str]:
    if bag_column not in columns:
        raise InputError(f"{path} has no column {bag_column!r}, which bag_column= names; it has {', '.join(columns)}")
    labels = [name for name in LABELS if name in columns]
    if len(labels) != 1:
        has = "both" if labels else "neither; it has " + ", ".join(columns)
        raise InputError(f"{path}: expected one of the columns label_sum and label_mean, it has {has}")
    return [bag_column, *labels, *([SIZE] if SIZE in columns else [])]


def match_bags(counts: pl.DataFrame, stated: StatedBags, *, sizes: Sizes, unmatched: Unmatched) -> pl.DataFrame:
    """`id`, `size` and `label_sum` of bags that both the rows (`counts`) and the file have, sorted by id."""
    frame = stated.frame
    if unmatched == "stop":
        for here, there, what in (
            (counts, frame, "are in files= and not in bags="),
            (frame, counts, "are in bags= and have no row in files="),
        ):
            alone = here.join(there, on="id", how="anti")["id"].sort().to_list()
            if alone:
                shown = ", ".join(map(repr, alone[:SHOWN]))
                several = "; a row in several bags, a|b, needs overlap=true" if BETWEEN_BAGS in alone[0] else ""
                raise InputError(
                    f"{len(alone)} bag(s) {what}, such as {shown}{several}; correct them, or leave them out with "
                    "unmatched_bags=drop"
                )
    both = counts.join(frame, on="id").sort("id")
    if both.is_empty():
        raise InputError("no bag of files= is in bags=: do both name the bags alike?")
    wrong = both.filter(pl.col(SIZE) != pl.col("rows"))
    if sizes == "check" and wrong.height:
        bag, rows, size = wrong["id"][0], wrong["rows"][0], wrong[SIZE][0]
        raise InputError(
            f"bag {bag!r} has size {size:g} in bags= and {rows} rows in files={further(len(wrong))}; "
            "correct it, or let the rows count with bag_sizes=trust_rows"
        )
    total = pl.col("label_sum") if stated.label == "label_sum" else pl.col("label_mean") * pl.col("rows")
    return both.select("id", pl.col("rows").cast(pl.Int64).alias(SIZE), total.alias("label_sum"))


def check_bags(bags: pl.DataFrame, kind: LabelKind, stated: str, epsilon: float | None) -> dict[str, float]:
    """Refuse sums that no bag has, and say how many of them noise has moved where labels of 0 and 1 cannot sum to."""
    label_sum, size = bags["label_sum"].to_numpy(), bags["size"].to_numpy()
    n_outside = check_sums(label_sum, size, bags["id"].to_list(), kind, stated=stated, epsilon=epsilon)
    fractional = bags.filter((pl.col("label_sum") - pl.col("label_sum").round()).abs() > ROUNDING)
    if kind == "binary" and stated == "label_sum" and epsilon is None and len(fractional):
        log.warning(
            "%d of the %d label sums are no integers, such as %g of bag %r, and labels of 0 and 1 sum to integers: if "
            "they are means, call their column label_mean, if they hold noise, state it by epsilon=..., if labels are "
            "others, write label_kind=real",
            len(fractional), len(bags), fractional[0, "label_sum"], fractional[0, "id"],
        )  # fmt: skip
    if not n_outside:
        return {}
    log.warning("noise has moved %d of the %d sums below 0 or above the size of their bag", n_outside, len(bags))
    return {"sums_outside": n_outside}
