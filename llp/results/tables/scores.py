"""Scores: mean and spread per bag dataset and method, and by bag size; what training took."""

from dataclasses import replace
from typing import Any

import polars as pl

from llp.results.formats import by_place, cell_of, columns_of, decimals_of, heading, metric_title, notes_on
from llp.results.table import MISSING, Cell, Table

MEASURES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "mse": "MSE",
    "mae": "MAE",
    "r2": "R²",
    "spearman": "Spearman",
    "mean_prediction_over_mean_label": "mean ratio",
}
"""Of test rows, in words; of binary labels, of real ones, and of both."""


def scores(cells: pl.DataFrame) -> Table:
    """Mean ± std of the metric: bag datasets as rows, methods as columns."""
    methods, decimals, found = columns_of(cells), decimals_of(cells), by_place(cells)
    rows = [
        [Cell(row), *(cell_of(found.get((row, method)), decimals) for method in methods)]
        for row in cells["row"].unique(maintain_order=True)
    ]
    return Table(heading(cells), ["bag dataset", *methods], rows, notes_on(cells))


def measures(cells: pl.DataFrame) -> Table | None:
    """All measures of each bag dataset and method, and those of a constant; None where no run has them."""
    shown = [name for name in MEASURES if f"measures.{name}" in cells.columns]
    if not shown:
        return None
    rows = []
    for row in cells.partition_by("row", maintain_order=True):
        constant = row.select(pl.col("^measures[.]constant_.*$").mean()).to_dicts() or [{}]
        named = [("a constant", [constant[0].get(f"measures.constant_{name}") for name in shown])]
        named += [(one["column"], [one[f"measures.{name}"] for name in shown]) for one in row.iter_rows(named=True)]
        rows += [[Cell(f"{row['row'][0]}, {name}"), *(Cell.number(one, ".4f") for one in own)] for name, own in named]
    notes = [
        "Means over the runs. A constant: the pooled label mean of the train bags for every row. Mean ratio: mean "
        "prediction over mean label; above 1 it is too high. Calibration error: the expected one, of 15 equal bins."
    ]
    return Table(f"{heading(cells)}: measures", ["bag dataset, method", *(MEASURES[one] for one in shown)], rows, notes)


def random_bags(cells: pl.DataFrame) -> Table | None:
    """Mean ± std on random bags: methods as rows, bag sizes as columns; None where there are none."""
    return _by_size(cells.filter(pl.col("bag_kind") == "random"), "random bags")


def fixed_bags(cells: pl.DataFrame) -> Table | None:
    """Mean ± std on fixed-size feature bags: key and method as rows, sizes as columns; None where there are none."""
    chosen = cells.filter(pl.col("bag_kind") == "fixed")
    keys = [name.removeprefix("fixed_").rpartition("_")[0] for name in chosen["grouping_key"]]
    named = chosen.with_columns(pl.Series("column", keys, pl.String) + ", " + pl.col("column"))
    table = _by_size(named, "fixed-size feature bags")
    return replace(table, notes=notes_on(chosen)) if table else None


def _by_size(cells: pl.DataFrame, kind: str) -> Table | None:
    """Bag sizes as columns. Runs in other settings than the rest of their key have rows of their own."""
    if not len(cells):
        return None
    named = cells.with_columns((pl.col("column") + pl.col("setting")).alias("name"))
    decimals = decimals_of(cells)
    sizes = named["bag_size"].unique().sort().to_list()
    found = {(cell["name"], cell["bag_size"]): cell for cell in named.iter_rows(named=True)}
    order = named.group_by("name").agg(pl.col("instance_labels").first(), pl.col("rank").mean())
    if kind != "random bags":
        order = order.sort("name")
    else:
        order = order.sort(~pl.col("instance_labels"), "rank", "name", nulls_last=True)
    rows = [[Cell(name), *(cell_of(found.get((name, size)), decimals) for size in sizes)] for name in order["name"]]
    columns = ["method" if kind == "random bags" else "key, method", *map(str, sizes)]
    return Table(f"{heading(cells)}, {kind}: method × bag size", columns, rows, notes_on(cells))


def training(cells: pl.DataFrame) -> Table:
    """Training of each method over all its runs: metric before it, epochs, early stops, seconds."""
    decimals = decimals_of(cells)
    metric = metric_title(cells)
    total = pl.col("n_runs").sum()
    by_method = cells.group_by("column", maintain_order=True).agg(
        total.alias("runs"),
        *((pl.col(name) * pl.col("n_runs")).sum() / total for name in ("epochs_mean", "first_stage_epochs_mean")),
        (pl.col("seconds_mean") * pl.col("n_runs")).sum() / total,
        pl.col("epochs_min").min(),
        pl.col("epochs_max").max(),
        pl.col("n_early_stopped").sum(),
        pl.col("untrained_mean").min().alias("low"),
        pl.col("untrained_mean").max().alias("high"),
    )
    rows = []
    for name in columns_of(cells):
        method = by_method.row(by_predicate=pl.col("column") == name, named=True)
        rows.append([
            Cell(name), Cell(str(method["runs"]), value=method["runs"]),
            Cell(_range(method["low"], method["high"], decimals)),
            Cell(_epochs(method), value=method["epochs_mean"]),
            Cell(f"{method['n_early_stopped']} of {method['runs']}", value=method["n_early_stopped"]),
            Cell.number(method["seconds_mean"], ".1f"),
        ])  # fmt: skip
    titles = ["method", "runs", f"untrained {metric}", "epochs", "stopped early", "seconds a run"]
    notes = [
        f"Untrained {metric}: before the (last) stage's first step, mean over the runs of a bag dataset, lowest to "
        "highest bag dataset. Epochs: mean (least to most) of the last stage, after + those of earlier stages."
    ]
    return Table(f"{heading(cells)}: training", titles, rows, notes)


def _epochs(method: dict[str, Any]) -> str:
    epochs = f"{method['epochs_mean']:.1f} ({method['epochs_min']}–{method['epochs_max']})"
    earlier = method["first_stage_epochs_mean"]
    return f"{earlier:.1f} + {epochs}" if earlier else epochs


def _range(low: float | None, high: float | None, decimals: int) -> str:
    if low is None or high is None:
        return MISSING
    texts = [f"{value:.{decimals}f}" for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else "–".join(texts)
