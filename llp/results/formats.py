"""Names and texts of cells, metrics and datasets in tables and figures."""

import math
from typing import Any

import polars as pl

from llp.data.folds import N_FOLDS
from llp.data.keys import KINDS
from llp.results.table import MISSING, Cell

METRIC_TITLES = {"auc": "AUC", "mse": "MSE"}

BAG_KINDS = {kind: key.words for kind, key in KINDS.items()}
"""Kinds of grouping keys in words, in the order of rows, columns and sentences."""


def cell_of(cell: dict[str, Any] | None, decimals: int) -> Cell:
    """Mean ± std of a summarised cell, such as '0.6543 ± 0.0021', and the runs where they are not one per fold."""
    if cell is None:
        return Cell(MISSING)
    mean, std = cell["mean"], cell["std"]
    text = "NaN" if mean is None else f"{mean:.{decimals}f}" + ("" if std is None else f" ± {std:.{decimals}f}")
    remark = _remark(*(cell[name] for name in ("n_runs", "n_folds", "n_seeds", "n_undefined")))
    return Cell(f"{text} ({remark})" if remark else text, cell["best"], mean, cell["cell"])


def _remark(n_runs: int, n_folds: int, n_seeds: int, n_undefined: int) -> str:
    said = []
    if n_folds != N_FOLDS or n_runs != n_folds * n_seeds:
        said.append(f"{n_folds} fold{'s' if n_folds > 1 else ''}")
    if n_seeds > 1:
        said.append(f"{n_seeds} seeds")
    if n_runs != n_folds * n_seeds:
        said.append(f"{n_runs} runs")
    if n_undefined:
        said.append(f"{n_undefined} of {n_runs} NaN")
    return ", ".join(said)


def columns_of(cells: pl.DataFrame) -> list[str]:
    """The methods in order: those on instance labels, then by mean rank."""
    distinct = cells.unique("column", keep="first", maintain_order=True)
    order = distinct.sort(~pl.col("instance_labels"), "rank", "column", nulls_last=True)
    return order["column"].to_list()


def by_place(cells: pl.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    """The cells by row and column."""
    return {(cell["row"], cell["column"]): cell for cell in cells.iter_rows(named=True)}


def metric_title(cells: pl.DataFrame) -> str:
    """The metric as readers know it."""
    name = str(cells["metric"][0])
    return METRIC_TITLES.get(name, name)


def measured_title(cells: pl.DataFrame) -> str:
    """The metric, and whether it is of test rows: where no row has a label, bags measure, perhaps train bags."""
    return ("" if str(cells["metric"][0]).startswith("bag_") else "test ") + metric_title(cells)


def heading(cells: pl.DataFrame) -> str:
    """Title of a dataset's tables and figures."""
    return f"{cells['dataset'][0]}: {measured_title(cells)}, protocol {cells['protocol'][0]}"


def decimals_of(cells: pl.DataFrame) -> int:
    """Decimals that show four significant digits of a typical mean."""
    typical = cells["mean"].abs().median()
    if not isinstance(typical, float) or not 0 < typical < math.inf:
        return 4
    return min(max(0, 3 - math.floor(math.log10(typical))), 12)


def notes_on(cells: pl.DataFrame) -> list[str]:
    """Notes that a reader of these cells' means needs."""
    direction = "higher" if cells["mode"][0] == "max" else "lower"
    notes = [
        f"Mean ± sample standard deviation (ddof 1) over the runs of a cell, folds × seeds: {N_FOLDS} folds and one "
        f"seed unless it says otherwise. The {measured_title(cells)}: {direction} is better.",
        "Marked: the best method on bags, among those with the most runs of the row, on the same folds and seeds.",
    ]
    if cells["protocol"][0] == "paper":
        notes.append("Protocol paper: the epoch is selected on the test rows: optimistic.")
    on_instances = cells.filter("instance_labels")["column"].unique(maintain_order=True).to_list()
    if on_instances:
        notes.append(f"Trained on instance labels, for reference: {', '.join(on_instances)}.")
    if cells["n_undefined"].sum():
        notes.append("NaN: runs whose metric is undefined are counted, and left out of the mean.")
    if "feature" in cells["bag_kind"].to_list() and cells["bag_kind"].n_unique() > 1:
        notes.append(
            "Feature bags are tested on the rows of the bags that are kept, random and fixed-size bags on all rows: "
            "compare methods within a row."
        )
    return notes
