"""Critical differences of the methods' mean ranks."""

from typing import TYPE_CHECKING

import polars as pl

from llp.analysis.drawing import new_figure
from llp.results import statistics
from llp.results.formats import heading
from llp.results.tables.significance import ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ranks(cells: pl.DataFrame) -> "Figure | None":
    """Mean ranks on a line; methods that are not told apart share a bar. None for too few methods or bag datasets."""
    found = ranking(cells)
    if found is None:
        return None
    methods, mean = found.methods, found.mean
    figure = new_figure(8.0, 1.6 + 0.24 * len(methods))
    axes = figure.subplots()
    axes.set(xlim=(0.7, len(methods) + 0.8), yticks=[], xlabel="mean rank (1 is best)")
    axes.spines["left"].set_visible(False)
    for line, (method, rank) in enumerate(zip(methods, mean, strict=True)):
        axes.plot([1, rank], [line, line], color="#DDDDDD", lw=0.8, zorder=0)
        axes.plot(rank, line, "o", color="#0072B2", ms=5)
        axes.annotate(f" {method}  {rank:.2f}", (rank, line), (5, 0), textcoords="offset points", va="center")
    alike = statistics.cliques(mean.tolist(), found.limit)
    for line, (first, last) in enumerate(alike):
        y = len(methods) + 0.5 * line
        axes.plot([mean[first], mean[last]], [y, y], color="#D55E00", lw=3, solid_capstyle="round")
    axes.set(ylim=(len(methods) + 0.5 * len(alike), -1.6))
    axes.plot([1, 1 + found.limit], [-1, -1], color="black", lw=2)
    axes.annotate(f"critical difference {found.limit:.2f}", (1, -1), (0, 5), textcoords="offset points")
    axes.set_title(
        f"{heading(cells)}: mean ranks over {len(found.scores)} bag datasets (bars: not told apart)",
        loc="left",
        fontsize=9,
    )
    return figure
