"""BagSepMatrix as a heat map: bags by label proportion, so that what lies near in labels stands near."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from llp.analysis.drawing import COLOURS, STYLE, new_figure, save_figure
from llp.files import folder_name

if TYPE_CHECKING:  # matplotlib takes a second to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6


def draw_matrix(key: str, matrix: pl.DataFrame, folder: Path, dataset: str) -> list[Path]:
    """Draw one key's matrix as a PNG and an SVG file of a folder."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        return save_figure(matrix_figure({key: matrix}, dataset), folder / f"bag_sep_matrix_{folder_name(key)}")


def matrix_figure(matrices: Mapping[str, pl.DataFrame], dataset: str) -> "Figure":
    """A heat map of `measure_matrix` per key, of the first keys, under the label means of its bags."""
    shown = dict([*matrices.items()][:MOST_PANELS])
    n_columns = min(len(shown), 3)
    n_lines = -(-len(shown) // n_columns)
    figure = new_figure(4.6 * n_columns, 5.0 * n_lines + 0.5)
    grid = figure.subplots(
        2 * n_lines, n_columns, squeeze=False, height_ratios=[1, 5] * n_lines, sharex="col" if n_lines == 1 else False
    )
    for place, (key, matrix) in enumerate(shown.items()):
        line, column = divmod(place, n_columns)
        _panel(grid[2 * line, column], grid[2 * line + 1, column], key, matrix)
    for place in range(len(shown), n_lines * n_columns):
        line, column = divmod(place, n_columns)
        grid[2 * line, column].remove()
        grid[2 * line + 1, column].remove()
    more = len(matrices) - len(shown)
    said = f"; {more} more keys: choose them with grouping_key=" if more else ""
    figure.suptitle(f"{dataset}: BagSepMatrix, bags by rising label proportion{said}", fontsize=10)
    return figure


def _panel(above: "Axes", axes: "Axes", key: str, matrix: pl.DataFrame) -> None:
    n_bags, n_all = len(matrix), int(matrix["n_bags"][0])
    values = np.array(matrix["separation"].to_list())
    above.stairs(matrix["label_mean"].to_numpy(), np.arange(n_bags + 1) - 0.5, fill=True, color=COLOURS[0], alpha=0.8)
    above.set_title(f"{key}: {f'{n_bags:,} of ' if n_bags < n_all else ''}{n_all:,} bags", loc="left", fontsize=9)
    above.set(xlim=(-0.5, n_bags - 0.5), xticks=[], ylabel="label mean")
    axes.grid(visible=False)
    image = axes.imshow(values, cmap="cividis", aspect="auto", interpolation="nearest")
    axes.set(xlabel="bag", ylabel="bag")
    axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, label=f"mean distance ({matrix['metric'][0]})")
