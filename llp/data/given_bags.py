"""Given bags: rows lie together by the user's own bag ids, with labels of their own or with aggregates alone.

`bag.npy` has the number of each row's bag, -1 for test rows; where bags overlap, of each pair with its row in
`bag_row.npy`. `bags.parquet` has each bag's `id`, `size`, `label_sum`; of a report's cells `query`, `code`,
`noise_variance` and perhaps `count`. With `Schema.aggregates_only` the rows' labels are NaN.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llp.data.schema import LARGEST_NUMBER, LabelKind, reading
from llp.errors import InputError, further

if TYPE_CHECKING:  # polars takes longer to import than a finished run to be skipped
    import polars as pl

BAG, BAG_ROW, BAGS = "bag.npy", "bag_row.npy", "bags.parquet"
NO_BAG = -1


def write_given_bags(
    folder: Path, bag: NDArray[np.int32] | None, bags: "pl.DataFrame", *, row: NDArray[np.int64] | None = None
) -> None:
    """Write `bags` (id, size, label_sum), `bag`, None of cells, and `row` where rows are in several or none."""
    if row is not None:
        np.save(folder / BAG_ROW, row)
    if bag is not None:
        np.save(folder / BAG, bag)
    bags.write_parquet(folder / BAGS)


def read_bag_ids(folder: Path) -> "pl.Series":
    """The ids (K,), as text, of a table's given bags in the order of their numbers."""
    return _read(folder)["id"]


def read_given_bags(folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Row and bag of each pair of the two (M,), rows not falling, and the sum of each bag's labels (K,)."""
    bag, label_sum = np.load(folder / BAG, mmap_mode="r"), _read(folder)["label_sum"].to_numpy()
    if (folder / BAG_ROW).is_file():
        return np.load(folder / BAG_ROW), bag, label_sum
    row = np.flatnonzero(bag != NO_BAG)
    return row, bag[row], label_sum


def read_report(folder: Path) -> "pl.DataFrame | None":
    """`bags.parquet`, where a table's given bags are the cells of a report."""
    frame = _read(folder)
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
    bags = _read(folder)
    return int(outside(bags["label_sum"].to_numpy(), bags["size"].to_numpy()).sum())


def _read(folder: Path) -> "pl.DataFrame":
    import polars as pl

    return pl.read_parquet(folder / BAGS, glob=False)


ROUNDING = 1e-6  # of a proportion: what a mean that was written with few digits, times the size, may be off
REACH = 50.0  # scales of Laplace noise; beyond it lies one sum in e^50


def outside(label_sum: NDArray[np.float64], size: NDArray[np.int64], reach: float = 0.0) -> NDArray[np.bool_]:
    """Which sums (K,) of labels 0 and 1 are below 0, or above the size of the bag, by more than `reach`: (K,)."""
    slack = reach + ROUNDING * size
    found: NDArray[np.bool_] = (label_sum < -slack) | (label_sum > size + slack)
    return found


def check_sums(
    label_sum: NDArray[np.float64],
    size: NDArray[np.int64],
    ids: Sequence[str],
    label_kind: LabelKind,
    *,
    stated: str,
    epsilon: float | None,
) -> int:
    """Refuse label sums (K,) that no bag has, given as `stated`; count those that noise has moved out of 0 to k."""
    if epsilon is not None and label_kind == "real":
        raise InputError(
            f"Invalid epsilon={epsilon}: it is of the noise in sums of labels 0 and 1, expected none where labels are "
            "real numbers"
        )
    wrong = ~(np.abs(label_sum) <= LARGEST_NUMBER)
    expected, hints = f"expected a number whose sum is at most {LARGEST_NUMBER:.0e}", ["correct it"]
    if label_kind == "binary" and not wrong.any():
        wrong = outside(label_sum, size, 0.0 if epsilon is None else REACH / epsilon)
        if stated == "label_sum":
            expected = "labels of 0 and 1 sum to 0 up to the number of rows"
        else:
            expected = "means of labels 0 and 1 lie in 0 to 1"
            means = label_sum[wrong] / size[wrong]
            if len(means) and means.min() > 0 and means.max() <= 100:
                hints.append("divide percentages by 100")
            if len(means) and (means % 1 == 0).all() and (means <= size[wrong]).all():
                hints.append("divide label sums by the sizes of their bags")
        if epsilon is not None:
            expected += f", and noise of scale 1/epsilon = {1 / epsilon:g} does not reach so far"
        elif stated == "proportions":
            hints += [
                "state their noise by LLPClassifier(epsilon=...)",
                "take LLPRegressor for other labels than 0 and 1",
            ]
        else:
            hints += ["state their noise by epsilon=...", "write label_kind=real for other labels than 0 and 1"]
    if wrong.any():
        at = int(np.argmax(wrong))
        value = label_sum[at] if stated == "label_sum" else label_sum[at] / size[at]
        said = f"bag {ids[at]!r} of {size[at]} rows has {stated} {value:.9g}{further(int(wrong.sum()))}"
        raise InputError(f"{said}: {expected}; {', or '.join(hints)}")
    return int(outside(label_sum, size).sum()) if label_kind == "binary" else 0
