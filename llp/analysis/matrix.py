"""BagSepMatrix of keys: how far pairs of bags lie apart, of many bags some by label proportion; and its heat map."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.analysis.drawing import COLOURS, new_panels
from llp.analysis.separation import Distances
from llp.data.bags import Bags
from llp.data.keys import GroupingKey
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.files import folder_name, write_atomically

if TYPE_CHECKING:  # matplotlib takes a second to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FOLDER = "matrices"
_COLUMNS = ("size", "label_mean", "separation", "n_bags", "metric", "table")


def measure_matrix(table: InstanceTable, key: GroupingKey, distances: Distances, most_bags: int) -> pl.DataFrame:
    """Measure the matrix of a key's bags, `most_bags` at most; refuses a key of fewer than two.

    A row per bag, by rising label mean: `size`, `label_mean`, `separation`, `n_bags`, `metric`, `table` (fingerprint).
    """
    every = key.all_bags(table)
    if len(every) < 2:
        raise InputError(f"Invalid matrix={key.name}: expected a key of two bags or more, and it keeps {len(every)}")
    bags = every.select(evenly_spaced(every, most_bags))
    means = bags.label_sum / bags.sizes
    rows = pl.DataFrame({"size": bags.sizes, "label_mean": means, "separation": distances.matrix(bags)})
    metric, fingerprint = pl.lit(distances.metric), pl.lit(table.fingerprint)
    return rows.with_columns(n_bags=len(every), metric=metric, table=fingerprint)


def evenly_spaced(bags: Bags, most: int) -> NDArray[np.int64]:
    """Numbers of at most so many bags, by rising label mean, the first and the last among them."""
    order = np.argsort(bags.label_sum / bags.sizes, kind="stable")
    places = np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.int64)
    chosen: NDArray[np.int64] = order[places]
    return chosen


def write_matrix(folder: Path, key: str, matrix: pl.DataFrame) -> None:
    """Keep a key's matrix in the folder of its dataset's analysis."""
    write_atomically(folder / _FOLDER / f"{folder_name(key)}.parquet", matrix.write_parquet)


def read_matrices(folder: Path) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """The matrices of a dataset's analysis by key, and what is wrong with files that cannot be used."""
    matrices, problems = {}, []
    for path in sorted((folder / _FOLDER).glob("[!.]*.parquet")):
        try:
            matrix = pl.read_parquet(path, columns=list(_COLUMNS), glob=False)
            matrix.select(pl.col("separation").cast(pl.List(pl.Float64)), pl.col("label_mean").cast(pl.Float64))
        except (OSError, pl.exceptions.PolarsError) as error:
            problems.append(f"{path} cannot be used ({str(error).splitlines()[0]}); remove it")
        else:
            matrices[unquote(path.stem)] = matrix
    return matrices, problems


def remove_matrices_of_other_tables(folder: Path, table: InstanceTable) -> None:
    """Remove the matrices that were measured on an earlier table of the dataset, and files that are none."""
    found, _ = read_matrices(folder)
    for path in (folder / _FOLDER).glob("[!.]*.parquet"):
        matrix = found.get(unquote(path.stem))
        if matrix is None or set(matrix["table"]) != {table.fingerprint}:
            path.unlink()


MOST_PANELS = 6


def matrix_figure(matrices: Mapping[str, pl.DataFrame], dataset: str) -> "Figure":
    """A heat map of `measure_matrix` per key, of the first keys, under the label means of its bags."""
    shown = dict([*matrices.items()][:MOST_PANELS])
    figure, panels = new_panels(len(shown), 4.6, 5.0, below=0.5)
    for axes, (key, matrix) in zip(panels, shown.items(), strict=True):
        _panel(axes, key, matrix)
    more = len(matrices) - len(shown)
    said = f"; {more} more keys: choose them with grouping_key=" if more else ""
    figure.suptitle(f"{dataset}: BagSepMatrix, bags by rising label proportion{said}", fontsize=10)
    return figure


def _panel(axes: "Axes", key: str, matrix: pl.DataFrame) -> None:
    n_bags, n_all = len(matrix), int(matrix["n_bags"][0])
    values = np.array(matrix["separation"].to_list())
    above = axes.inset_axes((0, 1.02, 1, 0.2))
    above.stairs(matrix["label_mean"].to_numpy(), np.arange(n_bags + 1) - 0.5, fill=True, color=COLOURS[0], alpha=0.8)
    above.set_title(f"{key}: {f'{n_bags:,} of ' if n_bags < n_all else ''}{n_all:,} bags", loc="left", fontsize=9)
    above.set(xlim=(-0.5, n_bags - 0.5), xticks=[], ylabel="label mean")
    axes.grid(visible=False)
    image = axes.imshow(values, cmap="cividis", aspect="auto", interpolation="nearest")
    axes.set(xlabel="bag", ylabel="bag")
    axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, label=f"mean distance ({matrix['metric'][0]})")
