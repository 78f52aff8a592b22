"""Figures of the cells: one panel per bag dataset, one line per method, mean and spread over the runs.

The methods are named at the lines, so no reading depends on telling twenty colours apart; the three colours used
are of the Okabe-Ito palette, and each comes with a marker of its own.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from llp.files import write_atomically
from llp.results.tables import columns_of, decimals_of, metric_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# kind of cell: colour, marker, size, face, meaning
_STYLES = {
    "best": ("#D55E00", "D", 5.5, "#D55E00", "best on bags"),
    "bags": ("#0072B2", "o", 5.5, "#0072B2", "trained on bags"),
    "instances": ("#444444", "s", 5.0, "white", "trained on instance labels"),
}
_RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": "#333333",
    "xtick.color": "#444444",
    "ytick.color": "#222222",
    "svg.fonttype": "none",
    "svg.hashsalt": "llp",
}
_DPI = 160
# inches
_WIDTH, _TOP, _BOTTOM, _ROW_GAP, _NUMBERS = 10.0, 1.15, 0.75, 0.62, 0.75
_CHARACTER = 0.076
# a value this many times the typical one is drawn at the edge, with its number, so that the others stay readable
_FAR = 3.0


def draw(cells: pl.DataFrame, stem: Path) -> list[Path]:
    """Draw the cells of one dataset and protocol as `<stem>.png` and `<stem>.svg`; returns both paths.

    Parameters
    ----------
    cells : pl.DataFrame
        See `llp.results.summary.summarize`.
    stem : Path
        The files' path without an ending.
    """
    import matplotlib as mpl

    with mpl.rc_context(_RC):
        figure = _figure(cells)
        paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("png", "svg")]
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}  # the same cells give the same file
            write_atomically(path, partial(figure.savefig, dpi=_DPI, metadata=metadata))
    return paths


def _figure(cells: pl.DataFrame) -> "Figure":
    from matplotlib.figure import Figure

    methods = columns_of(cells)
    panels = cells.partition_by("row", maintain_order=True)
    n_columns = _n_columns(len(panels))
    n_rows = -(-len(panels) // n_columns)
    line = 0.27 if len(methods) <= 8 else 0.2
    panel_height = line * (len(methods) + 0.4)
    height = _TOP + n_rows * (panel_height + _ROW_GAP) - _ROW_GAP + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height), facecolor="white")
    left = 0.3 + _CHARACTER * max(map(len, methods))
    panel_width = (_WIDTH - left - n_columns * _NUMBERS) / n_columns
    grid = figure.add_gridspec(
        n_rows,
        n_columns,
        left=left / _WIDTH,
        right=1 - _NUMBERS / _WIDTH,
        bottom=_BOTTOM / height,
        top=1 - _TOP / height,
        hspace=_ROW_GAP / panel_height,
        wspace=_NUMBERS / panel_width,
    )
    limits = _limits(cells)
    decimals = decimals_of(cells)
    for number, panel in enumerate(panels):
        row, column = divmod(number, n_columns)
        axes = figure.add_subplot(grid[row, column])
        _draw_panel(axes, panel, methods, limits, decimals)
        if column:
            axes.set_yticklabels([])
    _caption(figure, cells, height, left)
    return figure


def _n_columns(n_panels: int) -> int:
    return 1 if n_panels == 1 else 2 if n_panels <= 4 else 3 if n_panels <= 12 else 4


def _limits(cells: pl.DataFrame) -> tuple[float, float]:
    """Limits of the shared axis: all intervals, but for values far off in a metric without an upper bound."""
    known = cells.filter(pl.col("mean").is_not_null()).with_columns(pl.col("std").fill_null(0.0))
    if not len(known):
        return 0.0, 1.0
    if cells["mode"][0] == "min":  # the least mean is never above the typical one, so some stay
        known = known.filter(pl.col("mean") <= _FAR * pl.col("mean").median())
    ends = known.select((pl.col("mean") - pl.col("std")).alias("low"), (pl.col("mean") + pl.col("std")).alias("high"))
    low, high = ends["low"].min(), ends["high"].max()
    assert isinstance(low, float)
    assert isinstance(high, float)
    margin = 0.05 * (high - low) or 0.01
    return low - margin, high + margin


def _draw_panel(
    axes: "Axes", panel: pl.DataFrame, methods: list[str], limits: tuple[float, float], decimals: int
) -> None:
    axes.set(xlim=limits, ylim=(len(methods) - 0.3, -0.7))
    axes.set_yticks(range(len(methods)), methods)
    axes.set_title(panel["row"][0], loc="left", fontsize=10.5, fontweight="bold", color="#222222", pad=5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", length=3)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", color="#E3E3E3", linewidth=0.8)
    axes.hlines(range(len(methods)), *limits, color="#F0F0F0", linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    found = {cell["column"]: cell for cell in panel.iter_rows(named=True)}
    for y, method in enumerate(methods):
        _draw_cell(axes, y, found.get(method), limits[1], decimals)


def _draw_cell(axes: "Axes", y: int, cell: dict[str, Any] | None, end: float, decimals: int) -> None:
    """Interval, marker and, at the right edge, the number."""
    mean = cell["mean"] if cell else None
    kind = "best" if cell and cell["best"] else "instances" if cell and cell["instance_labels"] else "bags"
    colour, marker, size, face, _ = _STYLES[kind]
    text = "–" if cell is None else "NaN" if mean is None else f"{mean:.{decimals}f}"
    axes.annotate(
        text,
        (1, y),
        (8, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        va="center_baseline",
        fontsize=9,
        color=colour if kind == "best" else "#444444",
        fontweight="bold" if kind == "best" else "normal",
    )
    if cell is None or mean is None:
        return
    if mean > end:
        axes.plot(end, y, marker=">", color=colour, markersize=size, clip_on=False)
        return
    if cell["std"] is not None:
        axes.plot([mean - cell["std"], mean + cell["std"]], [y, y], color=colour, linewidth=2.2, alpha=0.5)
    axes.plot(mean, y, marker, color=colour, markersize=size, markerfacecolor=face, markeredgewidth=1.2)


def _caption(figure: "Figure", cells: pl.DataFrame, height: float, left: float) -> None:
    from matplotlib.lines import Line2D

    metric = metric_title(cells)
    selection = (
        "selected on the test rows (optimistic)" if cells["protocol"][0] == "paper" else "selected on held-out bags"
    )
    figure.text(
        0.2 / _WIDTH,
        1 - 0.34 / height,
        f"{cells['dataset'][0]}: test {metric} by bag dataset and method",
        fontsize=14,
        fontweight="bold",
        color="#111111",
        va="center",
    )
    figure.text(
        0.2 / _WIDTH,
        1 - 0.62 / height,
        f"Mean ± sample std over {_runs_text(cells)}; epoch {selection}",
        fontsize=10,
        color="#555555",
        va="center",
    )
    direction = f"{metric} (higher is better) →" if cells["mode"][0] == "max" else f"← {metric} (lower is better)"
    figure.text(
        (left + _WIDTH - _NUMBERS) / 2 / _WIDTH,
        0.28 / height,
        direction,
        fontsize=11,
        ha="center",
        va="center",
        color="#333333",
    )
    kinds = [
        ("best", cells["best"].any()),
        ("bags", not cells["instance_labels"].all()),
        ("instances", cells["instance_labels"].any()),
    ]
    handles = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            markersize=size,
            markerfacecolor=face,
            markeredgewidth=1.2,
            linewidth=2.2,
            label=meaning,
        )
        for colour, marker, size, face, meaning in (_STYLES[kind] for kind, shown in kinds if shown)
    ]
    figure.legend(
        handles=handles,
        loc="upper right",
        bbox_to_anchor=(1 - 0.1 / _WIDTH, 1 - 0.08 / height),
        frameon=False,
        fontsize=9,
    )


def _runs_text(cells: pl.DataFrame) -> str:
    """The folds and seeds of a cell, as a range where cells differ."""
    parts = []
    for name, unit in (("n_folds", "fold"), ("n_seeds", "seed")):
        low, high = int(cells[name].min()), int(cells[name].max())  # type: ignore[arg-type]
        if unit == "seed" and high == 1:
            continue
        parts.append(f"{low} {unit}{'s' if low > 1 else ''}" if low == high else f"{low} to {high} {unit}s")
    return " × ".join(parts)
