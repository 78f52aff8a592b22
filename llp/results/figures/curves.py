"""Learning curves: the metric at every evaluation, per bag dataset and method."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from llp.analysis.drawing import name_lines
from llp.results.collect import read_curve, unit
from llp.results.figures.runs import MOST_PANELS, direction, limits_of, looks_of, read_first, row_panels
from llp.results.formats import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    values = np.array([value for methods in found.values() for own in methods.values() for value in chain(*own)])
    known = values[np.isfinite(values)]
    limits = limits_of(known, np.zeros(len(known)), cells["mode"][0])
    above = known[known > limits[1]]
    cut = f"\n{len(above)} of {len(known)} values are above the axis, up to {above.max():.4g}" if len(above) else ""
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
