"""One file of a report, or of its queries: its records, and where each stands."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from llp.datasets.files.read import FilesReader
from llp.datasets.files.reports import PLACE
from llp.datasets.files.values import raw_number
from llp.datasets.reading.files import Files
from llp.datasets.reading.find import DataFile
from llp.datasets.reading.options import Reading
from llp.datasets.reading.records import BadLines
from llp.datasets.reading.stage import place
from llp.datasets.reading.unpack import damaged
from llp.errors import InputError

QUERY, COLUMNS = "query", "columns"
BUCKET, METRIC = "bucket", "metric"


class File(NamedTuple):
    """A file that was read: its records with `PLACE`, and what says where one stands."""

    name: str
    frame: pl.DataFrame
    place: Callable[[int], str]
    reading: Reading

    def wrong(self, at: pl.Series, what: str) -> InputError:
        """The error for the first record of which `at` is true."""
        return InputError(f"{self.place(self.frame[PLACE][at.fill_null(value=False).arg_max() or 0])}: {what}")

    def lacks(self, name: str, why: str = "") -> InputError:
        """The error for a column that is not there."""
        return InputError(f"{self.name} has no column {name!r}; it has {', '.join(self.frame.columns[:-1])}{why}")

    def number(self, name: str) -> pl.Series:
        """A column as numbers; one that is none is refused."""
        found = self.frame.select(raw_number(name, self.frame.schema[name], self.reading)).to_series()
        if found.has_nulls():
            given = self.frame[name].filter(found.is_null())[0]
            raise self.wrong(found.is_null(), f"{name} is {given!r}, expected a number")
        return found

    def numbers(self, columns: Mapping[str, str]) -> pl.DataFrame:
        """The records with columns as numbers under other names."""
        return self.frame.with_columns(self.number(name).alias(new) for new, name in columns.items())


def read(file: DataFile, reading: Reading, starts: list[tuple[str, int]], total: int) -> tuple[File, dict[str, Any]]:
    """A file's records, behind `total` of other files, and its name, bytes and checksum; its start joins `starts`."""
    files = Files([file], lambda n: None)
    if file.path.suffix.lower() == ".avro":
        files.read_whole(file)
        try:
            frame = pl.read_avro(file.path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise damaged(file.path, error) from None
        if frame.schema.get(BUCKET) != pl.Binary or not frame.schema.get(METRIC, pl.String()).is_integer():
            has = ", ".join(f"{name} ({kind})" for name, kind in frame.schema.items())
            raise InputError(f"{file.path} has the columns {has}; expected {BUCKET} (bytes) and {METRIC} (long)")
        if frame.is_empty():
            raise InputError(f"{file.path} holds no record.")
        starts.append((str(file.path), total))
    else:
        as_written = reading.model_copy(update={"columns": None, "header": "auto"})
        reader = FilesReader(files, as_written, BadLines("stop", may_skip=False), lambda path, columns: columns)
        frame = pl.concat(reader.frames())
        starts += [(name, total + start) for name, start in reader.starts]
    frame = frame.with_columns(pl.int_range(total, total + frame.height).alias(PLACE))
    return File(str(file.path), frame, partial(place, starts), reading), files.source()


def columns_of(listed: File) -> dict[str, list[str]]:
    """The columns of each query of a file of queries, between which | stands."""
    for name in (QUERY, COLUMNS):
        if name not in listed.frame.columns:
            raise listed.lacks(name)
    if (twice := listed.frame[QUERY].is_duplicated()).any():
        raise listed.wrong(twice, f"the query {listed.frame[QUERY].filter(twice)[0]!r} stands twice; expected it once")
    columns = listed.frame[COLUMNS].fill_null("").to_list()
    return {
        name or "": [one.strip() for one in of.split("|") if one]
        for name, of in zip(listed.frame[QUERY], columns, strict=True)
    }
