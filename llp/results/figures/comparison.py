"""Methods against each other: critical differences of their mean ranks, and what their scores cost."""

from typing import TYPE_CHECKING

import polars as pl

from llp.analysis.drawing import log_scale, name_lines, new_figure
from llp.results import statistics
from llp.results.figures.runs import direction, looks_of
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


def cost(cells: pl.DataFrame) -> "Figure":
    """Mean score of each method against the time of its runs."""
    total = pl.col("n_runs").sum()
    points = cells.group_by("column").agg(
        ((pl.col("seconds_mean") * pl.col("n_runs")).sum() / total).alias("seconds"),
        pl.col("mean").mean(),
        pl.col("rank").first(),
    )
    figure = new_figure(7.5, 5.0)
    axes = figure.subplots()
    by_name = {row["column"]: row for row in points.filter(pl.col("mean").is_not_null()).iter_rows(named=True)}
    for name, look in looks_of(cells).items():
        if name in by_name:
            point = by_name[name]
            axes.plot(point["seconds"], point["mean"], **{**look, "ls": "none"}, ms=6, label=name)
    log_scale(axes)
    axes.set(xlabel="seconds a run (mean, all its bag datasets)", ylabel=direction(cells))
    axes.margins(x=0.1)
    figure.suptitle(f"{heading(cells)}: score against cost, means over each method's bag datasets", fontsize=9)
    name_lines(figure)
    return figure
