"""Run records that are committed beside the pages, compressed: a Parquet file per bag dataset, a row per run.

Column `record` is the run's record as JSON, `looks` the evaluations of its curve at which a criterion stands beside
the test AUC, where the run wrote both.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from benchmarks.selection import CRITERIA
from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError
from llp.files import folder_name, write_atomically
from llp.results.collect import read_columns
from llp.runs.record import RunRecord

DOCS = CONF_DIR.parent / "docs"
OF_POINT = ("dataset", "grouping_key", "method", "fold", "seed", "config_hash")
OF_RUN = ("config_hash", "fold", "seed")
OF_LOOK = ("test_auc", *CRITERIA.values())
BOARD = "board"
_LOOKS = pl.List(pl.Struct(dict.fromkeys(OF_LOOK, pl.Float32)))
LOOKS = {"config_hash": pl.String, "fold": pl.Int64, "seed": pl.Int64, **dict.fromkeys(OF_LOOK, pl.Float64)}
"""Columns of `read_looks`."""

Kept = tuple[RunRecord, pl.DataFrame]
"""A record and its looks."""
Place = tuple[str, str]
"""A dataset and a grouping key."""
SOURCE = "source"
"""Among a record's versions the plug-in of a method from outside."""


def runs_below(folder: Path) -> list[Kept]:
    """The finished runs below a folder by their point, without the machine's paths; of copies of a run the first.

    Raises
    ------
    InputError
        No run is finished there.
    """
    results = sorted(folder.rglob("result.json"), reverse=True)
    found = [(_without_place(RunRecord.read(result)), _looks(result.parent)) for result in results]
    runs = {attrgetter(*OF_POINT)(record): (record, looks) for record, looks in found}
    if len(runs) < len(found):
        print(f"{len(found) - len(runs)} of {len(found)} runs are copies of others and left out", file=sys.stderr)
    if not runs:
        raise InputError(
            f"No run is finished below {folder}: expected a folder of an outputs folder, as outputs/flights"
        )
    return [runs[point] for point in sorted(runs)]


def keep(runs: Iterable[Kept], name: str) -> list[Path]:
    """Keep runs as `docs/results/NAME.DATASET_KEY.parquet`, a file per bag dataset, in place of those of that name."""
    of_bags: dict[str, list[Kept]] = defaultdict(list)
    for record, looks in runs:
        of_bags[folder_name(f"{name}.{record.dataset}_{record.grouping_key}")].append((record, looks))
    for path in _own_files(name):
        path.unlink()
    return [write(own, DOCS / "results" / f"{file}.parquet") for file, own in of_bags.items()]


def write(runs: Iterable[Kept], path: Path) -> Path:
    """Write runs to a file."""
    rows = [(record.model_dump_json(), looks.to_struct("").to_list()) for record, looks in runs]
    frame = pl.DataFrame(rows, schema={"record": pl.String, "looks": _LOOKS}, orient="row")
    write_atomically(path, lambda file: frame.write_parquet(file, compression="zstd", compression_level=19))
    return path


def _looks(folder: Path) -> pl.DataFrame:
    """The evaluations of a run by which an epoch may be picked, none where its curve has no test AUC beside them."""
    columns = pl.DataFrame(read_columns(folder, OF_LOOK), schema=dict.fromkeys(OF_LOOK, pl.Float64)).fill_nan(None)
    return columns.filter(pl.col("test_auc").is_not_null() & pl.any_horizontal(pl.col(OF_LOOK[1:]).is_not_null()))


def _without_place(record: RunRecord) -> RunRecord:
    """A record that names the runs of its stages by their places below an outputs folder, and scores by their file."""
    stages = [
        stage if stage.run is None else stage.model_copy(update={"run": "/".join(Path(stage.run).parts[-6:])})
        for stage in record.stages
    ]
    key = record.config["grouping_key"]
    if isinstance(key, dict) and key.get("scores"):
        key = key | {"scores": Path(str(key["scores"])).name}
    return record.model_copy(update={"stages": stages, "config": {**record.config, "grouping_key": key}})


def _frame(path: Path) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: no file of records ({error})") from None
    if set(frame.columns) != {"record", "looks"} or frame.is_empty():
        raise InputError(f"{path}: expected a record and its looks a run, but it has none")
    return frame


def read(path: Path) -> list[RunRecord]:
    """Read the records of a file; InputError where there are none, or one is damaged."""
    return [*_records(path, _frame(path))]


def _records(path: Path, frame: pl.DataFrame) -> Iterator[RunRecord]:
    for number, text in enumerate(frame["record"], 1):
        try:
            yield RunRecord.model_validate_json(text)
        except ValidationError as error:
            raise InputError(f"{path}, run {number}: no record of a run ({error.errors()[0]['msg']})") from None


def read_looks(path: Path) -> pl.DataFrame:
    """The looks of a file's runs: `OF_RUN` and `OF_LOOK`, a row per evaluation; `LOOKS`."""
    frame = _frame(path)
    points = pl.DataFrame([attrgetter(*OF_RUN)(record) for record in _records(path, frame)], OF_RUN, orient="row")
    looks = pl.concat([points, frame.select("looks")], how="horizontal").explode("looks").drop_nulls("looks")
    return looks.unnest("looks").cast(LOOKS)  # type: ignore[arg-type]


def files_of(name: str) -> list[Path]:
    """The record files kept under a name; of the board those of its entries too."""
    return _own_files(name) + (sorted((DOCS / "results").glob("entry_*.parquet")) if name == BOARD else [])


def _own_files(name: str) -> list[Path]:
    folder = DOCS / "results"
    return sorted([*folder.glob(f"{name}.parquet"), *folder.glob(f"{name}.*.parquet")])
