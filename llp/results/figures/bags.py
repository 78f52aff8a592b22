"""How well the predicted proportions of bags are those that were stated: where bags alone measure the runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from llp.analysis.drawing import GREY, new_figure
from llp.results.figures.looks import looks_of
from llp.results.formats import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 6
_GROUPS = 10
_COLUMNS = ("label_sum", "predicted_sum", "size")


def read_bags(folder: Path) -> pl.DataFrame | None:
    """The bags that measured a run, with `label_sum`, `predicted_sum` and `size`; None where its folder has none."""
    try:
        return pl.read_csv(folder / "bags.csv").select(pl.col(_COLUMNS).cast(pl.Float64))
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
    """Stated against predicted proportions of the bags that measured the runs, in groups of like predictions.

    None where labelled rows measured them. `grouping_key=` chooses other bag datasets.
    """
    rows = cells["row"].unique(maintain_order=True).to_list()[:_MOST_PANELS]
    found: dict[tuple[str, str], list[pl.DataFrame]] = {}
    if str(cells["metric"][0]).startswith("bag_"):
        for run in runs.filter(pl.col("row").is_in(rows)).iter_rows(named=True):
            bags = read_bags(Path(run["folder"]))
            if bags is not None and bags.height:
                found.setdefault((run["row"], run["column"]), []).append(bags)
    rows = [row for row in rows if any(row == one for one, _ in found)]
    if not rows:
        return None
    n_columns = min(len(rows), 3)
    n_lines = -(-len(rows) // n_columns)
    figure = new_figure(4.0 * n_columns + 1.5, 3.6 * n_lines + 0.6)
    grid = figure.subplots(n_lines, n_columns, squeeze=False)
    for axes, row in zip(grid.ravel(), rows, strict=False):
        axes.set_title(row, loc="left", fontsize=9, fontweight="bold")
        axes.set(xlabel="predicted mean label", ylabel="stated mean label")
        ends = []
        for method, look in looks_of(cells).items():
            if (row, method) in found:
                points = calibration(pl.concat(found[row, method]))
                axes.plot(points["predicted"], points["stated"], **look, lw=0.8, ms=4, label=method)
                ends += [*points.row(0), *points.row(-1)]
        axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=GREY, lw=0.8, ls=":", zorder=0)
    for axes in grid.ravel()[len(rows) :]:
        axes.remove()
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        shown |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(list(shown.values()), list(shown), loc="outside right upper", fontsize=8, handlelength=3.4)
    figure.suptitle(f"{heading(cells)}: bags in {_GROUPS} groups of like predictions", fontsize=10)
    return figure
