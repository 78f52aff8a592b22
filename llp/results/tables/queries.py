"""Queries of the cells that runs learnt from: whether their sums are met, and what each carries."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl

from llp.results.formats import heading
from llp.results.table import Cell, Table
from llp.runs.record import RunRecord

_NUMBERS = {  # of `llp.reports.account.QueryAccount`, with their columns and forms
    "cells": ("cells", ".0f"),
    "published": ("instances in them", ".3f"),
    "noise_sd": ("noise sd", ".2f"),
    "penalty": ("λ", ".1f"),
    "coverage": ("coverage", ".3f"),
    "carries": ("carries", ".5f"),
}


def queries(cells: pl.DataFrame, runs: pl.DataFrame) -> Table | None:
    """Means over the folds and seeds of each variant that learnt from cells; None where none did."""
    on_cells = runs.filter(pl.col("model") == "cell_weights").select("row", "column", "folder")
    found = [
        {"row": row, "column": column, "query": " × ".join(account["columns"])}
        | {name: account[name] for name in _NUMBERS}
        for row, column, folder in on_cells.iter_rows()
        for account in cast(Any, RunRecord.read(Path(folder) / "result.json").facts.get("by_query", []))
    ]
    if not found:
        return None
    means = pl.DataFrame(found, infer_schema_length=None).group_by("row", "column", "query", maintain_order=True)
    rows = [
        [Cell(row[name]) for name in ("row", "column", "query")]
        + [Cell.number(row[name], form) for name, (_, form) in _NUMBERS.items()]
        for row in means.mean().sort("row", "column", maintain_order=True).iter_rows(named=True)
    ]
    notes = [
        "Noise sd and λ of one cell. Coverage: share of cells whose stated sum is in the 95 % interval of the "
        "predicted one, noise and scatter of labels; far below 0.95, the weights do not hold what the report says. "
        "Carries: loss of an instance, on the train sums, that is gained by the weights of the query."
    ]
    columns = ["bag dataset", "method", "query", *(column for column, _ in _NUMBERS.values())]
    return Table(f"{heading(cells)}: cells that were learnt from", columns, rows, notes)


def dropped(found: Sequence[Mapping[str, Any]], dataset: str) -> Table:
    """What `llp.reports.account.drops` finds."""
    shown = {"cells": ".0f", "published": ".3f", "drop": ".5f"}
    rows = [[Cell(one["query"]), *(Cell.number(one[name], form) for name, form in shown.items())] for one in found]
    notes = ["Drop: estimated log loss of fresh labels without the query, less that of the whole exact report."]
    return Table(f"{dataset}: queries of a report", ["query", "cells", "instances in them", "drop"], rows, notes)
