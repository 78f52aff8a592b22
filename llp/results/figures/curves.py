"""Learning curves: the metric at every look at the models, per bag dataset and method."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from llp.analysis.drawing import new_figure
from llp.results.curves import read_curve, unit
from llp.results.figures.looks import looks_of
from llp.results.figures.scores import direction
from llp.results.formats import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 6
# an error this many times the typical one leaves the axis, which the title says, so that the others stay readable
_FAR = 5.0
_MARKERS = 10  # of a curve


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
    limits, cut = _limits([value for curve in chain(*curves.values()) for value in curve], cells["mode"][0])
    apart = dict(runs.group_by("row").agg("evaluate_every").iter_rows())
    figure = new_figure(4.0 * n_columns + 1.5, 3.0 * n_lines + 0.6)
    grid = figure.subplots(n_lines, n_columns, squeeze=False, sharey=True)
    for axes, row in zip(grid.ravel(), rows, strict=False):
        axes.set_title(row, loc="left", fontsize=9, fontweight="bold")
        axes.set(ylim=limits, xlabel=unit(apart[row]))
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        for method, look in looks_of(cells).items():
            own = curves.get((row, method), [])
            for curve in own:
                axes.plot(curve, c=look["c"], ls=look["ls"], lw=0.6, alpha=0.35)
            shortest = min(map(len, own), default=0)
            if shortest:
                mean = np.mean([curve[:shortest] for curve in own], axis=0)
                axes.plot(mean, **look, lw=1.5, ms=3.5, markevery=-(-shortest // _MARKERS), label=method)
    for axes in grid.ravel()[len(rows) :]:
        axes.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel(direction(cells))
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        shown |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(list(shown.values()), list(shown), loc="outside right center", fontsize=8, handlelength=3.4)
    more = cells["row"].n_unique() - len(rows)
    said = f"; {more} more bag datasets: choose them with grouping_key=" if more else ""
    figure.suptitle(f"{heading(cells)}: learning curves{said}{cut}", fontsize=10)
    return figure


def _limits(values: list[float], mode: str) -> tuple[tuple[float, float], str]:
    """Limits that hold all values, but for errors far above the others; what the title says of these."""
    known = np.array(values)[np.isfinite(values)]
    if not len(known):
        return (0.0, 1.0), ""
    there = known[known <= _FAR * np.median(known)] if mode == "min" else known  # the median is one of them
    beyond = len(known) - len(there)
    said = f"\n{beyond} of {len(known)} values are above the axis, up to {known.max():.4g}" if beyond else ""
    low, high = float(there.min()), float(there.max())
    margin = 0.05 * (high - low) or 0.01
    return (low - margin, high + margin), said
