"""Learning curves: the metric after every epoch, per bag dataset and method."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from llp.analysis.drawing import looks, new_figure
from llp.results.curves import read_curve
from llp.results.figures.scores import direction
from llp.results.formats import columns_of, heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 6


def learning_curves(cells: pl.DataFrame, runs: pl.DataFrame) -> "Figure | None":
    """The first bag datasets' curves: each run thin, the mean over a cell's runs bold while all go on.

    `grouping_key=` chooses other bag datasets. None where no run has a curve.
    """
    rows = cells["row"].unique(maintain_order=True).to_list()[:_MOST_PANELS]
    metric = cells["metric"][0]
    curves: dict[tuple[str, str], list[list[float]]] = {}
    for run in runs.filter(pl.col("row").is_in(rows)).iter_rows(named=True):
        curve = read_curve(Path(run["folder"]), metric)
        if curve:
            curves.setdefault((run["row"], run["column"]), []).append(curve)
    if not curves:
        return None
    n_columns = min(len(rows), 3)
    n_lines = -(-len(rows) // n_columns)
    limits = _limits([value for curve in chain(*curves.values()) for value in curve])
    figure = new_figure(4.0 * n_columns + 1.5, 3.0 * n_lines + 0.6)
    grid = figure.subplots(n_lines, n_columns, squeeze=False, sharey=True)
    methods = [name for name in columns_of(cells) if any(name == column for _, column in curves)]
    for axes, row in zip(grid.ravel(), rows, strict=False):
        axes.set_title(row, loc="left", fontsize=9, fontweight="bold")
        axes.set(ylim=limits, xlabel="epoch")
        for method, look in looks(methods).items():
            own = curves.get((row, method), [])
            for curve in own:
                axes.plot(curve, color=look["color"], lw=0.6, alpha=0.35)
            shortest = min(map(len, own), default=0)
            if shortest:
                mean = np.mean([curve[:shortest] for curve in own], axis=0)
                axes.plot(mean, **look, lw=1.5, ms=3, label=method)
    for axes in grid.ravel()[len(rows) :]:
        axes.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel(direction(cells))
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        shown |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(list(shown.values()), list(shown), loc="outside right center", fontsize=8)
    more = cells["row"].n_unique() - len(rows)
    said = f"; {more} more bag datasets: choose them with grouping_key=" if more else ""
    figure.suptitle(f"{heading(cells)}: learning curves{said}", fontsize=10)
    return figure


def _limits(values: list[float]) -> tuple[float, float]:
    """Limits that show nearly all values: single ones far off do not squeeze the others."""
    low, high = np.nanpercentile(values, (2, 98)) if not np.isnan(values).all() else (0.0, 1.0)
    margin = 0.08 * float(high - low) or 0.01
    return float(low) - margin, float(high) + margin
