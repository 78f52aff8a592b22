"""Style and files of figures: PNG and SVG, readable in print and with any colour vision."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llp.files import write_atomically

if TYPE_CHECKING:  # matplotlib takes a second to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# M. Okabe's and K. Ito's palette without its yellow, which is too light on white; then the same with other lines
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
LINES = ("-", "--", "-.", (0, (7, 1.5, 1, 1.5, 1, 1.5)))  # dotted lines are left for trends
MARKERS = "osD^vPX<>*"
GREY = "#8C8C8C"
STYLE: dict[Any, Any] = {  # matplotlib types each key
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": "#333333",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,  # a dollar in a name is a dollar
    "svg.hashsalt": "llp",
}
DPI = 150
MOST_NAMES = 60  # of more things than that none is named: nobody could read them


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure, in inches, whose layout is kept free of overlaps."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")


def new_panels(
    n: int,
    width: float,
    height: float,
    *,
    most_columns: int = 3,
    beside: float = 0.0,
    below: float = 0.0,
    **shared: Any,
) -> tuple["Figure", "list[Axes]"]:
    """A figure of n panels of a size in inches, line by line, with room beside and below them all."""
    columns = min(n, most_columns)
    lines = -(-n // columns)
    figure = new_figure(width * columns + beside, height * lines + below)
    panels = figure.subplots(lines, columns, squeeze=False, **shared).ravel().tolist()
    for axes in panels[n:]:
        axes.remove()
    return figure, panels[:n]


def name_lines(figure: "Figure", place: Any = "outside right center", **options: Any) -> None:
    """One legend of what the panels of a figure show, each name once."""
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        handles, names = axes.get_legend_handles_labels()
        shown |= dict(zip(names, handles, strict=True))
    if shown:
        figure.legend(list(shown.values()), list(shown), loc=place, fontsize=8, **options)


def log_scale(axes: "Axes") -> None:
    """A logarithmic x axis whose ticks are plain numbers."""
    from matplotlib.ticker import LogFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def in_three_measures(figure: "Figure", points: Any, titles: Sequence[str], names: Sequence[str]) -> Iterator[Any]:
    """Axes for each pair of three measures of points (m, 3) and for all; the measures' places, and who has them (m)."""
    for panel, shown in enumerate(([0, 1], [0, 2], [1, 2], [0, 1, 2]), 1):
        axes: Any = figure.add_subplot(2, 2, panel, projection="3d" if len(shown) == 3 else None)
        axes.set(**{f"{axis}label": titles[i] for axis, i in zip("xyz", shown, strict=False)})
        defined = np.isfinite(points[:, shown]).all(axis=1)
        there = points[defined][:, shown]
        if len(shown) == 3:
            for x, y, z in there:  # feet, and few small ticks, which would else overlap
                axes.plot([x, x], [y, y], [there[:, 2].min(), z], color=GREY, lw=0.6, alpha=0.5)
            for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
                axis.get_major_locator().set_params(nbins=5)
                axis.labelpad = 7
            axes.tick_params(labelsize=7, pad=1)
            axes.set_box_aspect(None, zoom=0.82)
        elif len(names) <= MOST_NAMES:
            for name, point in zip(compress(names, defined), there, strict=True):
                axes.annotate(name, point, (3, 3), textcoords="offset points", fontsize=5.5, color="#555555")
        yield axes, shown, defined


def name_ticks(axes: "Axes", names: Sequence[str]) -> None:
    """Names of what stands at 0, 1, 2, ... of the x axis, upright; none of more than can be read."""
    shown = names if len(names) <= MOST_NAMES else []
    axes.set_xticks(range(len(shown)), shown, rotation=90, fontsize=7 if len(names) <= 30 else 5.5)
    axes.set_xlim(-0.7, len(names) - 0.3)
    axes.grid(axis="x", visible=False)


def look(place: int) -> dict[str, Any]:
    """Colour, line, marker and the marker's face of the line at a place, from 0.

    Once the colours are used up they come again with another line and other markers, every other time hollow ones:
    28 places have no colour and line in common, 35 no colour and marker.

    >>> look(0)
    {'c': '#0072B2', 'ls': '-', 'marker': 'o', 'mfc': '#0072B2'}
    >>> look(7)
    {'c': '#0072B2', 'ls': '--', 'marker': '>', 'mfc': 'white'}
    """
    again, i = divmod(place, len(COLOURS))
    colour = COLOURS[i]
    return {
        "c": colour,
        "ls": LINES[again % len(LINES)],
        "marker": MARKERS[(place + again) % len(MARKERS)],
        "mfc": "white" if again % 2 else colour,
    }


def save_figures(drawn: Mapping[str, "Callable[[], Figure | None]"], folder: Path) -> dict[str, Path]:
    """Draw figures in one style and write those that there are to a folder: the PNG files, by name."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        made = ((name, draw()) for name, draw in drawn.items())
        return {name: save_figure(figure, folder / name) for name, figure in made if figure is not None}


def save_figure(figure: "Figure", stem: Path) -> Path:
    """Write `<stem>.svg` and `<stem>.png`, which it returns; the same figure gives the same files."""
    figure.draw_without_rendering()  # the layout takes as long as the drawing: once for both files
    figure.set_layout_engine("none")
    png, svg = (stem.with_name(f"{stem.name}.{ending}") for ending in ("png", "svg"))
    write_atomically(png, partial(figure.savefig, dpi=DPI))
    write_atomically(svg, partial(figure.savefig, dpi=DPI, metadata={"Date": None}))
    return png
