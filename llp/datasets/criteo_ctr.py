"""Criteo CTR (Kaggle Display Advertising): `train.txt` to an instance table.

A label, 13 integers, binned as categories, and 26 values of eight hexadecimal digits, of which those seen at most 10
times share code 0 (Brahma et al., LLP-Bench, arXiv 2310.10096).
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
from llp.datasets.encode import CodedLines, eight_digits, encode, from_eight_digits, natural_log_squared
from llp.datasets.published import compare
from llp.datasets.reading.files import Field
from llp.datasets.reading.layout import Layout
from llp.datasets.reading.stage import Staged
from llp.datasets.staging import Number, RawColumns, count_categories, progress_bars, stage, write_table

NUMBERS = [f"N{i}" for i in range(1, 14)]
CATEGORIES = [f"C{i}" for i in range(1, 27)]
LAYOUT = Layout(
    "criteo_ctr",
    (
        Field("label", "0/1"),
        *(Field(name, "whole") for name in NUMBERS),
        *(Field(name, "hex") for name in CATEGORIES),
    ),
    spellings={
        "click|clicked|target|y": "label",
        "(?:i|n|int|integer|num|numeric|dense)(?:feature|feat)?([0-9]+)": "N{}",
        "(?:c|cat|categorical|category|sparse)(?:feature|feat)?([0-9]+)": "C{}",
    },
    others={23: "Criteo SSCL (dataset=criteo_sscl)", 39: "the unlabelled test.txt of Criteo CTR"},
    label=("label",),
)
FULL_ROWS = 45_840_617
MISSING = 0  # a missing number is this one


def prepare(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    raw: Sequence[str],
    errors: Literal["stop", "skip"],
    rare_at_most: NonNegativeInt,
) -> None:
    """Write the table of raw files; categorical values seen at most `rare_at_most` times share code 0."""
    with scratch(folder) as parts, progress_bars() as progress:
        staged = stage(raw, LAYOUT, _keep, errors=errors, folder=parts, progress=progress)
        numbers = _numbers(staged)
        categories = count_categories(
            staged, CATEGORIES, rare_at_most=rare_at_most, missing_is_value=True, progress=progress
        )
        low = np.array([number.encoding["low"] for number in numbers.values()], np.int64)
        size = [number.column.vocab_size for number in numbers.values()]
        coder = CtrCoder(low, low + np.array(size, np.int64) - 1, {name: c.known for name, c in categories.items()})
        columns = RawColumns(
            label_kind="binary", numbers=numbers, categories=categories, as_text=eight_digits, missing=[""],
            published=partial(compare, "ctr", staged.rows, full_rows=FULL_ROWS, tolerance=0),
        )  # fmt: skip
        write_table(folder, made_by, staged, coder.encode, lambda frame: frame["label"].to_numpy(), columns, progress)


@dataclass(frozen=True)
class CtrCoder:
    """Codes lines, those of a table's file and new ones alike; threads may share it."""

    layout: ClassVar[Layout] = LAYOUT
    features: ClassVar[list[pl.Expr]] = [*map(natural_log_squared, NUMBERS), *map(pl.col, CATEGORIES)]

    low: NDArray[np.int64]  # (13,): the bin of the first code of each column of numbers
    high: NDArray[np.int64]  # (13,): that of the last code
    known: Mapping[str, pl.Series]  # by categorical column, the values of codes 1, 2, ... as UInt32

    @classmethod
    def of_table(cls, table: InstanceTable) -> Self:
        """The coder that coded the lines of a table."""
        low = np.array([table.encoding(name)["low"] for name in NUMBERS], np.int64)
        high = low + np.array(table.vocab_sizes[: len(NUMBERS)], np.int64) - 1
        return cls(low, high, {name: from_eight_digits(table.vocabulary(name)["value"]) for name in CATEGORIES})

    def encode(self, frame: pl.DataFrame) -> CodedLines:
        """Codes of lines with the columns `features`."""
        bins = frame.select(pl.col(NUMBERS).fill_null(MISSING)).to_numpy()
        held = np.clip(bins, self.low, self.high)
        of_numbers = (held - self.low).T.astype(np.int32)
        codes = np.stack([*of_numbers, *(encode(frame[name], known) for name, known in self.known.items())])
        # by column until the writer's one copy: four times as fast
        return CodedLines(codes.T, np.empty((frame.height, 0), np.float32), int(np.count_nonzero(held != bins)))


def _keep(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col("label").cast(pl.Float32), *CtrCoder.features)


def _numbers(staged: Staged) -> dict[str, Number]:
    """The columns of bins, from the least to the greatest of all rows."""
    filled, columns = pl.col(NUMBERS).fill_null(MISSING), pl.col(NUMBERS)
    low, high, missing = (
        staged.lazy.select(what).collect(engine="streaming").to_numpy()[0].astype(np.int64).tolist()
        for what in (filled.min(), filled.max(), columns.null_count())
    )
    return {
        name: Number(
            Column(name, "categorical", high[i] - low[i] + 1, "binned log squared"),
            encoding("log_squared_bins", low=low[i], missing=MISSING),
            missing[i],
        )
        for i, name in enumerate(NUMBERS)
    }
