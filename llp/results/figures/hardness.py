"""Scores against the measures of hardness: datasets in order of each, and datasets in the space of all three."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from llp.analysis.drawing import in_three_measures, name_lines, name_ticks, new_figure
from llp.results.bag_measures import HARDNESS, against_hardness, trends
from llp.results.figures.runs import direction, looks_of
from llp.results.formats import heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def ordered_by(measure: str, cells: pl.DataFrame, analysis: pl.DataFrame) -> "Figure | None":
    """Scores against the bag datasets in rising order of a measure; None for fewer than two."""
    joined = against_hardness(cells, analysis).filter(pl.col(measure).is_finite())
    keys = joined.select("grouping_key", measure).unique().sort(measure, "grouping_key")
    if len(keys) < 2:
        return None
    place = {key: i for i, key in enumerate(keys["grouping_key"])}
    figure = new_figure(min(max(7.0, 0.2 * len(place) + 3), 16.0), 5.4)
    axes = figure.subplots()
    trend = {row["column"]: row for row in trends(joined) if row["measure"] == measure}
    for method, look in looks_of(joined).items():
        own = joined.filter(pl.col("column") == method)
        x = np.array([place[key] for key in own["grouping_key"]])
        order = np.argsort(x)
        axes.plot(x[order], own["mean"].to_numpy()[order], **look, lw=0.9, ms=4, alpha=0.9, label=method)
        if method in trend:
            ends = np.array([-0.4, len(place) - 0.6])
            line = trend[method]["intercept"] + trend[method]["slope"] * ends
            axes.plot(ends, line, **{**look, "ls": ":"}, lw=1, ms=2.5)
    _name_outliers(axes, joined, place, trend)
    name_ticks(axes, [f"{key}  {value:,.4g}" for key, value in keys.iter_rows()])
    axes.set(xlabel=f"{len(keys)} bag datasets, rising {HARDNESS[measure]}", ylabel=direction(cells))
    figure.suptitle(f"{heading(cells)}, by {HARDNESS[measure]} (dotted: trend; named: outliers)", fontsize=10)
    name_lines(figure, handlelength=3.4)  # under the title, however long that is
    return figure


def _name_outliers(axes: "Axes", joined: pl.DataFrame, place: dict[str, int], trend: dict[str, dict[str, Any]]) -> None:
    """Name each dataset that stands apart once: at the highest of the methods of which it does."""
    apart = {(key, method) for method, one in trend.items() for key in (*one["above"], *one["below"])}
    highest: dict[str, float] = {}
    for key, method, mean in joined.select("grouping_key", "column", "mean").iter_rows():
        if (key, method) in apart:
            highest[key] = max(mean, highest.get(key, mean))
    for key, mean in highest.items():
        axes.annotate(key, (place[key], mean), (0, 5), textcoords="offset points", fontsize=6, ha="center")


def scatter(cells: pl.DataFrame, analysis: pl.DataFrame) -> "Figure | None":
    """The bag datasets by each pair of measures and by all three, coloured by the method that is best on them."""
    joined = against_hardness(cells, analysis).filter("best").unique("grouping_key", keep="first", maintain_order=True)
    joined = joined.filter(pl.all_horizontal(pl.col(name).is_finite() for name in HARDNESS))
    if len(joined) < 2:
        return None
    figure, points = new_figure(11, 9), joined.select(*HARDNESS).to_numpy()
    titles = list(HARDNESS.values())
    for axes, shown, _ in in_three_measures(figure, points, titles, joined["grouping_key"].to_list()):
        for method, look in looks_of(joined).items():
            own = points[(joined["column"] == method).to_numpy()][:, shown]
            face = {"facecolors": look["mfc"], "edgecolors": look["c"]}
            axes.scatter(*own.T, **face, marker=look["marker"], s=30, label=method)
    figure.suptitle(f"{heading(cells)}: the best method on each of {len(joined)} bag datasets", fontsize=11)
    name_lines(figure, "outside lower center", ncols=5)
    return figure
