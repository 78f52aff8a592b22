"""Scores of all methods, named at the lines: a panel per bag dataset, or a heat map where there are too many."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from llp.analysis.drawing import name_lines, new_figure, new_panels
from llp.results.figures.runs import direction, limits_of
from llp.results.formats import by_place, columns_of, decimals_of, measured_title, metric_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# kind of cell: colour, marker, face, meaning
_LOOKS = {
    "best": ("#D55E00", "D", "#D55E00", "best on bags"),
    "bags": ("#0072B2", "o", "#0072B2", "trained on bags"),
    "instances": ("#444444", "s", "white", "trained on instance labels"),
}
_MOST_PANELS = 24
_MOST_NAMES = 80  # rows of a heat map that can be named


def scores(cells: pl.DataFrame) -> "Figure":
    """Mean and spread of every cell of one dataset, protocol and metric."""
    in_panels = cells["row"].n_unique() <= _MOST_PANELS
    figure = _panels(cells) if in_panels else _heat_map(cells)
    mean = "mean ± sample std" if in_panels else "mean"
    rows = "the test rows (optimistic)" if cells["protocol"][0] == "paper" else "held-out bags"
    figure.suptitle(
        f"{cells['dataset'][0]}: {measured_title(cells)} by bag dataset and method\n"
        f"{mean} over {_runs_text(cells)}; epoch selected on {rows}\n{direction(cells)}",
        fontsize=11,
    )
    return figure


def _panels(cells: pl.DataFrame) -> "Figure":
    methods = columns_of(cells)
    panels = cells.partition_by("row", maintain_order=True)
    most_columns, height = 3 if len(panels) > 4 else 2, 0.21 * len(methods) + 0.55
    figure, places = new_panels(len(panels), 3.4, height, most_columns=most_columns, beside=2.2, below=1.2, sharey=True)
    known, decimals = cells.filter(pl.col("mean").is_not_null()), decimals_of(cells)
    limits = limits_of(known["mean"].to_numpy(), known["std"].fill_null(0).to_numpy(), cells["mode"][0])
    for axes, panel in zip(places, panels, strict=True):
        axes.set(xlim=limits, ylim=(len(methods) - 0.3, -0.7))
        axes.set_yticks(range(len(methods)), methods)
        axes.set_title(panel["row"][0], loc="left", fontsize=9.5, fontweight="bold")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=5)
        found = {cell["column"]: cell for cell in panel.iter_rows(named=True)}
        for y, method in enumerate(methods):
            _draw_cell(axes, y, found.get(method), limits[1], decimals)
    name_lines(figure, "outside lower center", ncols=3)
    return figure


def _draw_cell(axes: "Axes", y: int, cell: dict[str, Any] | None, end: float, decimals: int) -> None:
    """Interval, marker and, at the right edge, the number."""
    mean = cell["mean"] if cell else None
    kind = "best" if cell and cell["best"] else "instances" if cell and cell["instance_labels"] else "bags"
    colour, marker, face, meaning = _LOOKS[kind]
    text = "–" if cell is None else "NaN" if mean is None else f"{mean:.{decimals}f}"
    axes.annotate(
        text,
        (1, y),
        (6, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        va="center_baseline",
        fontsize=8,
        color=colour if kind == "best" else "#444444",
        fontweight="bold" if kind == "best" else "normal",
    )
    if cell is None or mean is None:
        return
    if mean > end:
        axes.plot(end, y, marker=">", color=colour, markersize=5, clip_on=False)
        return
    if cell["std"] is not None:
        axes.plot([mean - cell["std"], mean + cell["std"]], [y, y], color=colour, linewidth=2.2, alpha=0.5)
    axes.plot(mean, y, marker, c=colour, markersize=5, markerfacecolor=face, markeredgewidth=1.2, label=meaning)


def _heat_map(cells: pl.DataFrame) -> "Figure":
    """Distance of each mean from the best of its row, relative to the spread of the row's methods."""
    from matplotlib.colors import PowerNorm

    methods, rows = columns_of(cells), cells["row"].unique(maintain_order=True).to_list()
    found = by_place(cells)
    means: Any = np.array([[found.get((row, name), {}).get("mean") for name in methods] for row in rows], float)
    ahead = means if cells["mode"][0] == "max" else -means
    behind = np.nanmax(ahead, axis=1, keepdims=True, initial=-np.inf, where=np.isfinite(ahead)) - ahead
    typical = np.nanquantile(behind, 0.95) or 1.0
    named = len(rows) <= _MOST_NAMES
    figure = new_figure(0.5 * len(methods) + 3.5, min(max(4.0, 0.16 * len(rows)), 14.0) + 1.5)
    axes = figure.subplots()
    axes.grid(visible=False)
    scale = PowerNorm(0.5, vmin=0, vmax=typical)  # most methods are near the best: their differences are to be seen
    image = axes.imshow(behind, aspect="auto", cmap="cividis_r", norm=scale, interpolation="nearest")
    axes.set_facecolor("#F4F4F4")
    axes.set_xticks(range(len(methods)), methods, rotation=60, ha="right")
    axes.set_yticks(range(len(rows)) if named else [], rows if named else [], fontsize=6)
    if not named:
        axes.set_ylabel(f"{len(rows)} bag datasets")
    for y, row in enumerate(rows):
        for x, method in enumerate(methods):
            if found.get((row, method), {}).get("best") and named:
                axes.plot(x, y, "*", color="black", markersize=5)
    figure.colorbar(image, ax=axes, label=f"{metric_title(cells)} behind the best of the row (★ best)", shrink=0.6)
    return figure


def _runs_text(cells: pl.DataFrame) -> str:
    """The folds and seeds of a cell, as a range where cells differ."""
    parts = []
    for name, unit in (("n_folds", "fold"), ("n_seeds", "seed")):
        low, high = int(cells[name].to_numpy().min()), int(cells[name].to_numpy().max())
        if unit == "seed" and high == 1:
            continue
        parts.append(f"{low} {unit}{'s' if low > 1 else ''}" if low == high else f"{low} to {high} {unit}s")
    return " × ".join(parts)
