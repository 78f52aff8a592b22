"""Given bags: rows lie together by the user's own bag ids, with labels of their own or with aggregates alone.

A table with given bags has `bag.npy` (rows, int32): the number of each row's bag, -1 for a row of a given test split;
and `bags.parquet`, a row per bag in the order of these numbers: its `id` (text), its `size`, and `label_sum`. Where
`Schema.aggregates_only` is set, the sums are the user's, and `label.npy` is NaN for every row of a bag.
"""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

BAG, BAGS = "bag.npy", "bags.parquet"
NO_BAG = -1


def write_given_bags(folder: Path, bag: NDArray[np.int32], bags: pl.DataFrame) -> None:
    """Write the bags of a table's rows into its (temporary) folder.

    Parameters
    ----------
    bag : ndarray
        (N,) the number of each row's bag, or -1.
    bags : pl.DataFrame
        `id` (text), `size` (int64), `label_sum` (float64) of each bag.
    """
    np.save(folder / BAG, bag)
    bags.write_parquet(folder / BAGS)


def read_given_bags(folder: Path) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The number of each row's bag (N,), and the sum of each bag's labels (K,), from a table's folder."""
    return np.load(folder / BAG, mmap_mode="r"), pl.read_parquet(folder / BAGS)["label_sum"].to_numpy()
