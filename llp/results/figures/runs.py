"""Parts that figures of runs share: the look of a method, which way is better, panels by bag dataset."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.analysis.drawing import look, new_panels
from llp.results.formats import columns_of, metric_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FAR = 4.0
MOST_PANELS = 6  # `grouping_key=` chooses other bag datasets
Read = TypeVar("Read")


def looks_of(cells: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The look of each method, in the order of `columns_of`; it goes by the method's place in the whole report."""
    places = dict(cells.select("column", "place").iter_rows())
    return {name: look(places[name]) for name in columns_of(cells)}


def direction(cells: pl.DataFrame) -> str:
    """The metric and which way is better."""
    metric = metric_title(cells)
    return f"{metric} (higher is better) →" if cells["mode"][0] == "max" else f"← {metric} (lower is better)"


def limits_of(centre: NDArray[np.float64], spread: NDArray[np.float64], mode: str) -> tuple[float, float]:
    """Limits that hold centres ± spreads (n,), but for errors far above the typical one: the others stay readable."""
    if not len(centre):
        return 0.0, 1.0
    near = centre <= _FAR * np.median(centre) if mode == "min" else np.ones(len(centre), bool)
    low, high = float((centre - spread)[near].min()), float((centre + spread)[near].max())
    margin = 0.05 * (high - low) or 0.01
    return low - margin, high + margin


def read_first(
    cells: pl.DataFrame, runs: pl.DataFrame, read: Callable[[Path], Read | None]
) -> dict[str, dict[str, list[Read]]]:
    """Read the folders of the first bag datasets' runs: by row, and by column in the order of methods."""
    first, methods = cells["row"].unique(maintain_order=True).to_list()[:MOST_PANELS], columns_of(cells)
    found: dict[str, dict[str, list[Read]]] = {row: {method: [] for method in methods} for row in first}
    for row, column, folder in runs.filter(pl.col("row").is_in(first)).select("row", "column", "folder").iter_rows():
        if (one := read(Path(folder))) is not None:
            found[row][column].append(one)
    return {row: shown for row in first if (shown := {name: own for name, own in found[row].items() if own})}


def row_panels(rows: Collection[str], height: float, **shared: Any) -> "tuple[Figure, list[Any]]":
    """A figure with a panel of a height for each row."""
    figure, panels = new_panels(len(rows), 4.0, height, beside=1.5, below=0.6, **shared)
    for axes, row in zip(panels, rows, strict=True):
        axes.set_title(row, loc="left", fontsize=9, fontweight="bold")
    return figure, panels
