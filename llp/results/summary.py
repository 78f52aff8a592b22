"""From runs to cells: one row per dataset, protocol, bag dataset and method, over the runs of its folds and seeds."""

import math
import re
from typing import Any

import polars as pl

from llp.results.formats import BAG_KINDS

CELL = ("dataset", "protocol", "metric", "row", "column")
_OF_THE_CELL = (
    *("grouping_key", "bag_kind", "bag_size", "method", "model", "mode", "label_kind", "start", "instance_labels"),
    *("config", "setting"),
)


def summarize(runs: pl.DataFrame) -> pl.DataFrame:
    """Mean and spread of every cell, in the order in which tables and figures show them.

    Of `name_variants`' runs: `CELL` and `_OF_THE_CELL`; the metric's `mean` and sample `std` where defined; `points`,
    their folds and seeds; `upwards`, the mean where larger is better; `compared`, `best`: see `mark_best`; `rank` of
    the method, its mean over the rows; `place` among all names of methods; `cell`, its number.
    """
    measures = [name for name in runs.columns if name.startswith("measures.")]
    cells = runs.group_by(*CELL, maintain_order=True).agg(
        *(pl.col(name).first() for name in _OF_THE_CELL),
        pl.col("best").mean().alias("mean"),
        pl.col("best").std(ddof=1).alias("std"),
        pl.len().alias("n_runs"),
        pl.col("fold").n_unique().alias("n_folds"),
        pl.col("seed").n_unique().alias("n_seeds"),
        pl.concat_str("fold", "seed", separator=":").sort().str.join(" ").alias("points"),
        pl.col("best").null_count().alias("n_undefined"),
        pl.col("untrained").mean().alias("untrained_mean"),
        pl.col("untrained").std(ddof=1).alias("untrained_std"),
        pl.col("epochs").mean().alias("epochs_mean"),
        pl.col("epochs").min().alias("epochs_min"),
        pl.col("epochs").max().alias("epochs_max"),
        pl.col("first_stage_epochs").mean().alias("first_stage_epochs_mean"),
        pl.col("early_stopped").sum().alias("n_early_stopped"),
        pl.col("seconds").mean().alias("seconds_mean"),
        *(pl.col(name).mean() for name in measures),
        *(pl.col(name).std(ddof=1).alias(name.replace("measures.", "measures_std.", 1)) for name in measures),
    )
    upwards = pl.when(pl.col("mode") == "max").then(pl.col("mean")).otherwise(-pl.col("mean"))
    place = pl.col("column").rank("dense").cast(pl.Int64) - 1
    cells = cells.with_columns(upwards.alias("upwards"), place.alias("place"))
    return _in_order(mark_best(cells))


def mark_best(cells: pl.DataFrame) -> pl.DataFrame:
    """Mark the best mean of each row, among at least two that compare: the one rule of who wins.

    Cells on instance labels, with an undefined metric, fewer runs than others of the row, or other folds and seeds than
    most of these, are not `compared`.
    """
    row = ["dataset", "protocol", "metric", "row"]
    fit = ~pl.col("instance_labels") & (pl.col("n_undefined") == 0)
    most = fit & (pl.col("n_runs") == pl.col("n_runs").filter(fit).max().over(row))
    compared = most & (pl.col("points") == pl.col("points").filter(most).mode().sort().first().over(row))
    cells = cells.with_columns(compared.fill_null(False).alias("compared"))
    best = pl.col("upwards") == pl.col("upwards").filter(pl.col("compared")).max().over(row)
    several = pl.col("compared").sum().over(row) > 1
    return cells.with_columns((pl.col("compared") & best & several).fill_null(False).alias("best"))


def _in_order(cells: pl.DataFrame) -> pl.DataFrame:
    """Rows by kind and name of the key; columns by mean rank over the rows, methods on instance labels first."""
    rank = pl.col("upwards").rank(descending=True).over("dataset", "protocol", "metric", "row")
    cells = cells.with_columns(rank.alias("rank"))
    cells = cells.with_columns(pl.col("rank").mean().over("dataset", "protocol", "metric", "column"))

    kinds = list(BAG_KINDS)

    def order(cell: dict[str, Any]) -> tuple[Any, ...]:
        kind = kinds.index(cell["bag_kind"]) if cell["bag_kind"] in kinds else len(kinds)
        rank = math.inf if cell["rank"] is None else cell["rank"]
        # random_64 before random_256
        natural = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", cell["row"])]
        row = (cell["dataset"], cell["protocol"], cell["metric"], kind, natural)
        return (*row, not cell["instance_labels"], rank, cell["column"])

    keys = [order(cell) for cell in cells.iter_rows(named=True)]
    return cells[sorted(range(len(keys)), key=keys.__getitem__)].with_row_index("cell")
