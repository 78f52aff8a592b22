"""Calibration of the predicted proportions of bags, where bags alone measure the runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from llp.analysis.drawing import GREY, name_lines
from llp.results.figures.runs import looks_of, read_first, row_panels
from llp.results.formats import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GROUPS = 10
_COLUMNS = ("label_sum", "predicted_sum", "size")


def read_bags(folder: Path) -> pl.DataFrame | None:
    """The bags that measured a run, with `label_sum`, `predicted_sum` and `size`; None where its folder has none."""
    try:
        bags = pl.read_csv(folder / "bags.csv").select(pl.col(_COLUMNS).cast(pl.Float64))
        return bags if bags.height else None
    except (OSError, pl.exceptions.PolarsError):
        return None


def calibration(bags: pl.DataFrame, groups: int = _GROUPS) -> pl.DataFrame:
    """Bags in groups of like predictions: `predicted` and `stated` proportion of each group, by its instances.

    >>> bags = pl.DataFrame({"label_sum": [1.0, 9.0], "predicted_sum": [2.0, 8.0], "size": [10.0, 10.0]})
    >>> calibration(bags, 2).rows()
    [(0.2, 0.1), (0.8, 0.9)]
    """
    ordered = bags.sort(pl.col("predicted_sum") / pl.col("size"))
    group = np.arange(bags.height) * min(groups, bags.height) // max(bags.height, 1)
    sums = ordered.with_columns(group=pl.Series(group)).group_by("group", maintain_order=True).agg(pl.all().sum())
    return sums.select(predicted=pl.col("predicted_sum") / pl.col("size"), stated=pl.col("label_sum") / pl.col("size"))


def bag_calibration(cells: pl.DataFrame, runs: pl.DataFrame) -> "Figure | None":
    """Stated against predicted proportions of the bags that measured the runs; None where labelled rows did."""
    found = read_first(cells, runs, read_bags) if str(cells["metric"][0]).startswith("bag_") else {}
    if not found:
        return None
    looks, (figure, panels) = looks_of(cells), row_panels(found, 3.6)
    for axes, methods in zip(panels, found.values(), strict=True):
        axes.set(xlabel="predicted mean label", ylabel="stated mean label")
        ends = []
        for method, bags in methods.items():
            points = calibration(pl.concat(bags))
            axes.plot(points["predicted"], points["stated"], **looks[method], lw=0.8, ms=4, label=method)
            ends += [*points.row(0), *points.row(-1)]
        axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=GREY, lw=0.8, ls=":", zorder=0)
    name_lines(figure, "outside right upper", handlelength=3.4)
    figure.suptitle(f"{heading(cells)}: bags in {_GROUPS} groups of like predictions", fontsize=10)
    return figure
