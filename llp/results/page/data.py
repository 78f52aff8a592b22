"""The page's data: tables, and the runs behind each cell with their configuration and curve, each text once."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llp.results.collect import Config, read_curve, unit
from llp.results.formats import METRIC_TITLES
from llp.results.sections import Report
from llp.results.summary import CELL
from llp.results.table import Cell

_DIGITS = 5  # significant, of a curve's values
_POINTS = 60  # of a curve; longer ones are thinned out


def page_data(report: Report) -> dict[str, Any]:
    """Everything that the page's script shows.

    `tables`: id to columns and rows of `_cell`s; `cells`: number to title, metric, unit and its runs; `runs`: see
    `_run`; `common`: settings that all configurations share; `configs`: those that differ, by number.
    """
    shown: dict[int, dict[str, Any]] = {
        row["cell"]: {"title": f"{row['column']} on {row['row']}", "dataset": row["dataset"],
                      "metric": METRIC_TITLES.get(row["metric"], row["metric"]),
                      "config": row["config"], "runs": []}
        for row in report.cells.iter_rows(named=True)
    }  # fmt: skip
    listed, place = [], report.cells.select(*CELL, "cell")
    for number, run in enumerate(report.runs.join(place, on=CELL, maintain_order="left").iter_rows(named=True)):
        listed.append(_run(run, report.outputs_dir))
        shown[run["cell"]]["unit"] = unit([run["evaluate_every"]])
        shown[run["cell"]]["runs"].append(number)
    used = sorted({cell["config"] for cell in shown.values()})
    common, different = _told_apart([report.configs[number] for number in used])
    return {
        "tables": {
            f"{section.name}-{name}": {
                "columns": table.columns, "rows": [[_cell(cell) for cell in row] for row in table.rows]
            }
            for section in report.sections
            for name, table in section.tables.items()
        },
        "cells": shown,
        "runs": listed,
        "common": common,
        "configs": dict(zip(used, different, strict=True)),
    }  # fmt: skip


def _cell(cell: Cell) -> Any:
    if cell.value is None and cell.cell is None and not cell.best:
        return cell.text
    return [cell.text, cell.value, int(cell.best), cell.cell]


def _run(run: dict[str, Any], outputs_dir: Path) -> list[Any]:
    """Fold, seed, metric, epochs, chosen epoch, seconds, folder below the outputs, and the curve."""
    folder = Path(run["folder"])
    curve = read_curve(folder, run["metric"])
    step = -(-len(curve) // _POINTS) or 1
    points = [float(f"{value:.{_DIGITS}g}") if value == value else None for value in curve[::step]]
    numbers = [run[name] for name in ("fold", "seed", "best", "epochs", "best_epoch", "seconds")]
    return [*numbers, str(folder.relative_to(outputs_dir)), points, step]


def _told_apart(configs: Sequence[Config]) -> tuple[Config, list[Config]]:
    """Settings that all configurations share, and those that each has besides, in the order of their names."""
    counts = Counter(setting for config in configs for setting in config.items())
    common = dict(sorted(setting for setting, n in counts.items() if n == len(configs)))
    return common, [{path: config[path] for path in sorted(config) if path not in common} for config in configs]
