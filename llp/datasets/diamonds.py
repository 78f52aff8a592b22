"""Prices of 53,940 round cut diamonds: real data with a real label that installs with pip.

The table `plotnine/data/diamonds.csv` of the package `plotnine` (MIT licence), read without importing the package. The
label is the base-2 logarithm of the price in thousands of dollars.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import PositiveInt

from llp.data.table import Column
from llp.data.table_writer import CHUNK_ROWS, TableWriter
from llp.data.vocabulary import encoding
from llp.datasets.encode import encode_column, quantile_bins
from llp.datasets.installed import package_folder

CATEGORICAL = ("cut", "color", "clarity")
NUMERIC = ("carat", "depth", "table", "x", "y", "z")


def prepare(*, folder: Path, made_by: Mapping[str, Any], bins: PositiveInt) -> None:
    """Write the instance table.

    Parameters
    ----------
    folder : Path
        Where the table goes.
    made_by : Mapping
        This function's name and options, for the table's schema.
    bins : int
        Quantile bins of each numeric column.

    Raises
    ------
    InputError
        The package `plotnine` is not installed.
    """
    path = data_file()
    diamonds = pl.read_csv(path)
    label = np.log2(diamonds["price"].to_numpy() / 1000).astype(np.float32)
    coded = {name: encode_column(diamonds[name], rare_at_most=0) for name in CATEGORICAL}
    binned = {name: quantile_bins(diamonds[name], bins=bins) for name in NUMERIC}
    columns = [Column(name, "categorical", len(known) + 1, "categories") for name, (_, known) in coded.items()]
    columns += [Column(name, "categorical", len(edges) + 2, "quantile bins") for name, (_, edges) in binned.items()]
    codes = np.stack([values for values, _ in (*coded.values(), *binned.values())], axis=1)
    with TableWriter(folder, columns, label_kind="real", rows=len(label)) as writer:
        for start in range(0, len(label), CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            writer.write(start, codes[part], None, label[part])
        for name, (_, known) in coded.items():
            writer.set_vocabulary(name, known, missing=[])
        for name, (_, edges) in binned.items():
            writer.set_encoding(name, encoding("quantile_bins", edges=edges.tolist()))
        source = {"package": "plotnine", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        writer.finish(made_by=made_by, source=source, facts={"label_mean": float(label.mean(dtype=np.float64))})


def data_file() -> Path:
    """The file inside the installed package.

    Raises
    ------
    InputError
        The package is not installed.
    """
    return package_folder("plotnine", dataset="diamonds", extra="suite") / "data" / "diamonds.csv"
