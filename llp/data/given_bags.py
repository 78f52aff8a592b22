"""Given bags: rows lie together by the user's own bag ids, with labels of their own or with aggregates alone.

A table with given bags has `bag.npy` (rows, int32): the number of each row's bag, -1 for a row of a given test split;
and `bags.parquet`, a row per bag in the order of these numbers: its `id` (text), `size` and `label_sum`. Where bags
overlap, `bag.npy` has an entry for each pair of row and bag, and `bag_row.npy` (int64, not falling) has the pair's row.
Cells of a report have no such arrays, but in `bags.parquet` their `query` (columns of the table), `code` within it (see
`llp.data.cells`), `noise_variance`, and `count` where the table's rows are but a sample of those that it counts.
Where `Schema.aggregates_only` is set, the sums are the user's, and `label.npy` is NaN for every row of a bag.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.label_sums import outside
from llp.data.schema import reading

BAG, BAG_ROW, BAGS = "bag.npy", "bag_row.npy", "bags.parquet"
NO_BAG = -1


def write_given_bags(
    folder: Path, bag: NDArray[np.int32] | None, bags: pl.DataFrame, *, row: NDArray[np.int64] | None = None
) -> None:
    """Write the bags of a table's rows into its (temporary) folder.

    `bag` (N,) is the number of each row's bag, or -1; None of cells. `bags` has `id` (text), `size` and `label_sum`.
    `row`, where rows are in several bags or in none, is the row of each entry of `bag`, not falling.
    """
    if row is not None:
        np.save(folder / BAG_ROW, row)
    if bag is not None:
        np.save(folder / BAG, bag)
    bags.write_parquet(folder / BAGS)


def read_bag_ids(folder: Path) -> pl.Series:
    """The ids (K,), as text, of a table's given bags in the order of their numbers."""
    return pl.read_parquet(folder / BAGS, columns=["id"], glob=False)["id"]


def read_given_bags(folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Row and bag of each pair of the two (M,), rows not falling, and the sum of each bag's labels (K,)."""
    bag, label_sum = (
        np.load(folder / BAG, mmap_mode="r"),
        pl.read_parquet(folder / BAGS, glob=False)["label_sum"].to_numpy(),
    )
    if (folder / BAG_ROW).is_file():
        return np.load(folder / BAG_ROW), bag, label_sum
    row = np.flatnonzero(bag != NO_BAG)
    return row, bag[row], label_sum


def read_report(folder: Path) -> pl.DataFrame | None:
    """`bags.parquet`, where a table's given bags are the cells of a report."""
    frame = pl.read_parquet(folder / BAGS, glob=False)
    return frame if "query" in frame.columns else None


def most_bags_of_a_row(folder: Path) -> int:
    """In how many of a table's given bags a row is at most: 1 unless they overlap."""
    path = folder / BAG_ROW
    if path.is_file():
        return _most(path, path.stat().st_mtime_ns)
    report = read_report(folder)
    return 1 if report is None else report["query"].n_unique()


@lru_cache(maxsize=16)
def _most(path: Path, changed: int) -> int:
    with reading(path.parent, path.name):
        return int(np.bincount(np.load(path)).max(initial=1))


def n_sums_outside(folder: Path) -> int:
    """How many of a table's given bags have a label sum that labels of 0 and 1 cannot: noise, then."""
    if not (folder / BAGS).is_file():
        return 0
    bags = pl.read_parquet(folder / BAGS, columns=["label_sum", "size"], glob=False)
    return int(outside(bags["label_sum"].to_numpy(), bags["size"].to_numpy()).sum())
