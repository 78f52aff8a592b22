"""Scores against the measures of hardness: datasets in order of each, and datasets in the space of all three."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from llp.analysis.drawing import MOST_NAMES, in_space, name_lines, new_figure
from llp.results.bag_measures import HARDNESS, against_hardness, trends
from llp.results.figures.runs import direction, looks_of
from llp.results.formats import heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def ordered_by(measure: str, cells: pl.DataFrame, analysis: pl.DataFrame | None) -> "Figure | None":
    """Scores against the bag datasets in rising order of a measure; None for fewer than two."""
    if analysis is None:
        return None
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
    _name_datasets(axes, keys, measure)
    axes.set_ylabel(direction(cells))
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


def _name_datasets(axes: "Axes", keys: pl.DataFrame, measure: str) -> None:
    if len(keys) > MOST_NAMES:
        axes.set_xlabel(f"{len(keys)} bag datasets, rising {HARDNESS[measure]}")
        return
    names = [f"{key}  {value:,.4g}" for key, value in keys.iter_rows()]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7 if len(names) <= 30 else 5.5)
    axes.set_xlabel(f"bag dataset and its {HARDNESS[measure]}")


def scatter(cells: pl.DataFrame, analysis: pl.DataFrame | None) -> "Figure | None":
    """The bag datasets by each pair of measures and by all three, coloured by the method that is best on them."""
    if analysis is None:
        return None
    joined = against_hardness(cells, analysis).filter("best").unique("grouping_key", keep="first", maintain_order=True)
    joined = joined.filter(pl.all_horizontal(pl.col(name).is_finite() for name in HARDNESS))
    if len(joined) < 2:
        return None
    look = looks_of(joined)
    figure = new_figure(11, 9)
    values = [joined[name].to_numpy() for name in HARDNESS]
    titles = list(HARDNESS.values())
    for panel, (x, y) in enumerate(((0, 1), (0, 2), (1, 2)), 1):
        axes = figure.add_subplot(2, 2, panel)
        axes.set(xlabel=titles[x], ylabel=titles[y])
        _points(axes, joined, look, values[x], values[y])
        if len(joined) <= MOST_NAMES:
            for key, *at in zip(joined["grouping_key"], values[x], values[y], strict=True):
                axes.annotate(key, (at[0], at[1]), (3, 3), textcoords="offset points", fontsize=5.5, color="#555555")
    axes = figure.add_subplot(2, 2, 4, projection="3d")
    axes.set(xlabel=titles[0], ylabel=titles[1], zlabel=titles[2])
    in_space(axes, np.column_stack(values))
    _points(axes, joined, look, *values)
    figure.suptitle(f"{heading(cells)}: the best method on each of {len(joined)} bag datasets", fontsize=11)
    name_lines(figure, "outside lower center", ncols=5)
    return figure


def _points(axes: Any, joined: pl.DataFrame, look: dict[str, dict[str, Any]], *values: Any) -> None:
    for method, style in look.items():
        own = (joined["column"] == method).to_numpy()
        face = {"facecolors": style["mfc"], "edgecolors": style["c"]}
        axes.scatter(*(value[own] for value in values), **face, marker=style["marker"], s=30, label=method)
