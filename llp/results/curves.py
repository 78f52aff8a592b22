"""Learning curves: the measures of every evaluation, as runs leave them in `metrics.csv`."""

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path


def read_curve(folder: Path, metric: str) -> list[float]:
    """The test metric of each evaluation, NaN where it is undefined; empty where there is no curve that can be read."""
    return read_columns(folder, [f"test_{metric}"])[f"test_{metric}"]


def unit(evaluate_every: Iterable[float]) -> str:
    """Unit of a curve's steps, by the epochs between two evaluations.

    >>> unit([1.0, 1.0]), unit([0.25]), unit([0.25, 1.0])
    ('epoch', 'evaluation, every 0.25 epochs', 'evaluation')
    """
    apart = set(evaluate_every)
    if apart == {1.0}:
        return "epoch"
    return "evaluation" + (f", every {apart.pop():g} epochs" if len(apart) == 1 else "")


def read_columns(folder: Path, names: Sequence[str]) -> dict[str, list[float]]:
    """Columns of a curve; NaN where a value is not finite or there is no such column; empty without a curve to read."""
    try:
        with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
            found = {name: [float(row.get(name) or math.nan) for row in rows] for name in names}
            return {name: [one if math.isfinite(one) else math.nan for one in own] for name, own in found.items()}
    except (OSError, ValueError, csv.Error):
        return {name: [] for name in names}
