"""A frame in memory to an instance table: a dataset says what becomes of its columns, and is written one way."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.table import Column, LabelKind
from llp.data.table_writer import CHUNK_ROWS, TableWriter
from llp.data.vocabulary import encoding
from llp.datasets.encode import encode_column, quantile_bins


@dataclass(frozen=True, kw_only=True)
class FrameColumns:
    """What becomes of a frame's columns; the table has them in this order.

    Attributes
    ----------
    label_kind : {'binary', 'real'}
        Kind of the label.
    categories : sequence of str
        Columns whose values have a code each; those seen at most `rare_at_most` times, and later unseen ones, share 0.
    binned : sequence of str
        Numbers that are cut at their quantiles into at most `bins` codes; a missing one has code 0.
    numbers : sequence of str
        Numbers that are standardised; a missing one is the mean.
    missing : sequence of str
        Texts of the raw file that are a missing value of a category, which the frame has as null.
    """

    label_kind: LabelKind
    categories: tuple[str, ...]
    binned: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    rare_at_most: int
    bins: int
    missing: tuple[str, ...] = ()


def write_frame(
    folder: Path,
    made_by: Mapping[str, Any],
    frame: pl.DataFrame,
    label: NDArray[np.floating],
    columns: FrameColumns,
    source: Mapping[str, Any],
) -> None:
    """Write the instance table of a frame.

    Parameters
    ----------
    folder, made_by
        As `prepare` of a dataset is given them.
    frame : pl.DataFrame
        N rows; a null is a missing value.
    label : ndarray
        (N,) their labels.
    columns : FrameColumns
        What becomes of its columns.
    source : Mapping
        What identifies the raw data.

    Raises
    ------
    InputError
        There is no row, or a label or number is not finite.
    """
    coded = {name: encode_column(frame[name], rare_at_most=columns.rare_at_most) for name in columns.categories}
    binned = {name: quantile_bins(frame[name], bins=columns.bins) for name in columns.binned}
    scales = {name: _scale(frame[name]) for name in columns.numbers}
    columns_of_codes = [values for values, _ in (*coded.values(), *binned.values())]
    codes = np.array(columns_of_codes, np.int32).reshape(-1, len(label)).T
    numbers = frame.select(
        (pl.col(name).fill_null(mean) - mean) / std for name, (mean, std) in scales.items()
    ).to_numpy()
    merged = "rare merged" if columns.rare_at_most else "categories"
    made = [Column(name, "categorical", len(known) + 1, merged) for name, (_, known) in coded.items()]
    made += [Column(name, "categorical", len(edges) + 2, "quantile bins") for name, (_, edges) in binned.items()]
    made += [Column(name, "numeric", None, "standardised") for name in scales]
    with TableWriter(folder, made, label_kind=columns.label_kind, rows=len(label)) as writer:
        for start in range(0, len(label), CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            writer.write(start, codes[part], numbers[part] if scales else None, label[part])
        for name, (_, known) in coded.items():
            writer.set_vocabulary(name, known, missing=columns.missing)
        for name, (_, edges) in binned.items():
            writer.set_encoding(name, encoding("quantile_bins", edges=edges.tolist()))
        for name, (mean, std) in scales.items():
            writer.set_encoding(name, encoding("standardised", mean=mean, std=std))
        share = {name: frame[name].null_count() / len(label) for name in (*coded, *binned, *scales)}
        facts = {"label_mean": float(label.mean(dtype=np.float64))} | (
            {"missing_share": share} if any(share.values()) else {}
        )
        writer.finish(made_by=made_by, source=source, facts=facts)


def _scale(values: pl.Series) -> tuple[float, float]:
    """Mean and standard deviation of a column; 1 for one that is constant."""
    known = values.drop_nulls().to_numpy()
    return float(known.mean()), float(known.std()) or 1.0
