"""Prices of 53,940 diamonds, log2 of 1,000 dollars (`plotnine`, MIT): read without importing the package."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import PositiveInt

from llp.datasets.frames import FrameColumns, write_frame
from llp.datasets.installed import package_folder

CATEGORICAL = ("cut", "color", "clarity")
NUMERIC = ("carat", "depth", "table", "x", "y", "z")


def prepare(*, folder: Path, made_by: Mapping[str, Any], bins: PositiveInt) -> None:
    """Write the instance table, with at most `bins` quantile bins of each numeric column."""
    path = package_folder("plotnine", dataset="diamonds", extra="suite") / "data" / "diamonds.csv"
    diamonds = pl.read_csv(path)
    label = np.log2(diamonds["price"].to_numpy() / 1000).astype(np.float32)
    columns = FrameColumns(label_kind="real", categories=CATEGORICAL, binned=NUMERIC, rare_at_most=0, bins=bins)
    source = {"package": "plotnine", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    write_frame(folder, made_by, diamonds, label, columns, source)
