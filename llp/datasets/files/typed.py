"""Parquet and Arrow files: which they are, and one type for a column of all of them."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from llp.datasets.reading.find import DataFile
from llp.datasets.reading.unpack import damaged
from llp.errors import InputError

PARQUET, ARROW = b"PAR1", b"ARROW1"


def typed_format(path: Path) -> bytes | None:
    """The first bytes of a Parquet or an Arrow file; None for any other one."""
    with path.open("rb") as file:
        magic = file.read(6)
    return next((one for one in (PARQUET, ARROW) if magic.startswith(one)), None)


def scan(path: Path) -> pl.LazyFrame:
    """Its rows, without columns of its folders' names."""
    if typed_format(path) == PARQUET:
        return pl.scan_parquet(path, hive_partitioning=False, glob=False)
    return pl.scan_ipc(path, hive_partitioning=False, glob=False)


def common_types(files: Sequence[DataFile], ignored: Sequence[str]) -> dict[str, pl.DataType]:
    """By column that is not ignored, one type for all files: what is integer in one and float in another is float."""
    found: dict[str, pl.DataType] = {}
    for file in files:
        try:
            schema = scan(file.path).collect_schema()
        except pl.exceptions.PolarsError as error:
            raise damaged(file.path, error) from None
        for name, kind in ((name, kind) for name, kind in schema.items() if name not in ignored):
            common = _common(found.setdefault(name, kind), kind)
            if common is None:
                raise InputError(
                    f"column {name!r} is {found[name]} in one file and {kind} in {file.path}: write them alike"
                )
            found[name] = common
    return found


def _common(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """A type that holds the values of both; None where they are of different families."""
    if one == other or pl.Null in (one, other):
        return other if one == pl.Null else one
    if all(kind in (pl.String, pl.Categorical, pl.Enum) for kind in (one, other)):
        return pl.String()
    if not ((one.is_numeric() and other.is_numeric()) or all(kind in (pl.Date, pl.Datetime) for kind in (one, other))):
        return None
    try:
        both = [pl.DataFrame(schema={"x": kind}) for kind in (one, other)]
        return pl.concat(both, how="vertical_relaxed").schema["x"]
    except pl.exceptions.PolarsError:
        return None
