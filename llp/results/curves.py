"""Learning curves: the metric of every epoch, as runs leave it in `metrics.csv`."""

import csv
import math
from pathlib import Path


def read_curve(folder: Path, metric: str) -> list[float]:
    """The test metric after each epoch, NaN where it is undefined; empty where there is no curve that can be read."""
    try:
        with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return [float(row.get(f"test_{metric}") or math.nan) for row in rows]
    except (OSError, ValueError, csv.Error):
        return []
