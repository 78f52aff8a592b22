"""Learning curves: the metric at every evaluation, per bag dataset and method."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from llp.analysis.drawing import name_lines
from llp.results.collect import read_curve, unit
from llp.results.figures.runs import MOST_PANELS, direction, looks_of, read_first, row_panels
from llp.results.formats import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# an error this many times the typical one leaves the axis, which the title says, so that the others stay readable
_FAR = 5.0
_MARKERS = 10  # of a curve


def learning_curves(cells: pl.DataFrame, runs: pl.DataFrame) -> "Figure | None":
    """The first bag datasets' curves: runs thin, the mean over a cell's runs bold; None where no run has one.

    Under protocol=holdout a curve has the metric only with `protocol.test_in_curve`.
    """
    metric = str(cells["metric"][0])

    def curve_in(folder: Path) -> list[float] | None:
        curve = read_curve(folder, metric)
        return curve if np.isfinite(curve).any() else None

    found = read_first(cells, runs, curve_in)
    if not found:
        return None
    looks, apart = looks_of(cells), dict(runs.group_by("row").agg("evaluate_every").iter_rows())
    values = [value for methods in found.values() for own in methods.values() for value in chain(*own)]
    limits, cut = _limits(values, cells["mode"][0])
    figure, panels = row_panels(found, 3.0, sharey=True)
    for axes, (row, methods) in zip(panels, found.items(), strict=True):
        axes.set(ylim=limits, xlabel=unit(apart[row]))
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        for method, own in methods.items():
            for curve in own:
                axes.plot(curve, c=looks[method]["c"], ls=looks[method]["ls"], lw=0.6, alpha=0.35)
            shortest = min(map(len, own))
            mean = np.mean([curve[:shortest] for curve in own], axis=0)
            axes.plot(mean, **looks[method], lw=1.5, ms=3.5, markevery=-(-shortest // _MARKERS), label=method)
    for axes in panels[::3]:
        axes.set_ylabel(direction(cells))
    name_lines(figure, handlelength=3.4)
    more = cells["row"].n_unique() - MOST_PANELS
    said = f"; {more} more bag datasets: choose them with grouping_key=" if more > 0 else ""
    figure.suptitle(f"{heading(cells)}: learning curves{said}{cut}", fontsize=10)
    return figure


def _limits(values: list[float], mode: str) -> tuple[tuple[float, float], str]:
    """Limits that hold all values, but for errors far above the others; what the title says of these."""
    known = np.array(values)[np.isfinite(values)]
    there = known[known <= _FAR * np.median(known)] if mode == "min" else known  # the median is one of them
    beyond = len(known) - len(there)
    said = f"\n{beyond} of {len(known)} values are above the axis, up to {known.max():.4g}" if beyond else ""
    low, high = float(there.min()), float(there.max())
    margin = 0.05 * (high - low) or 0.01
    return (low - margin, high + margin), said
