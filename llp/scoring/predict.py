"""Scores written to a file as they are computed: in constant memory, in the order of the rows."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import polars as pl

from llp.data.table import InstanceTable
from llp.datasets.files.recipe import Recipe
from llp.datasets.ordered_map import ordered_map
from llp.errors import InputError
from llp.files import remove_killed, write_atomically
from llp.scoring.raw_rows import RawRows, raw_coder
from llp.scoring.rows import EncodedRows, FilesRows, TableRows
from llp.scoring.trained import TrainedRuns

ROW_GROUP = 2**18

RowSource = TableRows | FilesRows | RawRows

SINKS: dict[str, Callable[[pl.LazyFrame, BinaryIO], object]] = {
    ".parquet": lambda lazy, file: lazy.sink_parquet(file, compression="lz4", row_group_size=ROW_GROUP),
    ".arrow": lambda lazy, file: lazy.sink_ipc(file),
    ".csv": lambda lazy, file: lazy.sink_csv(file),
}


class Written(NamedTuple):
    """How many rows were scored, and in how many seconds."""

    rows: int
    seconds: float


def check_out(out: Path) -> None:
    """Refuse a name whose ending says no format, and that of a folder."""
    if out.suffix not in SINKS:
        raise InputError(f"Invalid out={out}: expected a file ending in {', '.join(SINKS)}, such as out=scores.parquet")
    if out.is_dir():
        raise InputError(f"Invalid out={out}: it is a folder; expected a file, such as out={out}/scores.parquet")


def rows_to_score(
    files: Sequence[str] | None, folder: Path | None, trained_on: InstanceTable, on_read: Callable[[int], None]
) -> RowSource:
    """The rows of files, of raw lines, or of the table in a folder; refuses a table of other codes than the runs'."""
    if files is None:
        assert folder is not None
        table = InstanceTable.open(folder)
        if table.fingerprint != trained_on.fingerprint:
            raise InputError(
                f"{table.folder} is not the table that the run was trained on ({trained_on.folder}), so its codes mean "
                "something else; score its raw files, such as files=new.parquet"
            )
        return TableRows(table, on_read)
    if coder := raw_coder(trained_on):
        return RawRows(files, coder, on_read)
    return FilesRows(files, Recipe.load(trained_on.folder), on_read)


def write_scores(runs: TrainedRuns, rows: RowSource, out: Path) -> Written:
    """Write the ids and scores of rows to a Parquet, Arrow or CSV file, once it is whole; none that is scored."""
    begin, written = time.perf_counter(), 0
    if out.exists() and any(out.samefile(path) for path in rows.paths):
        raise InputError(
            f"Invalid out={out}: it is a file that is scored; expected another, such as out=scores.parquet"
        )
    names = ["probability", "log_odds"] if runs.table.label_kind == "binary" else ["prediction"]
    taken = [name for name in rows.id_schema.names() if name in names]
    if taken:
        raise InputError(f"the id column {taken[0]!r} has the name of a score; rename it")
    schema = pl.Schema([*rows.id_schema.items(), *((name, pl.Float64()) for name in names)])

    def score(encode: Callable[[], EncodedRows]) -> pl.DataFrame:
        encoded = encode()
        scores = pl.DataFrame(runs.score(encoded.categorical, encoded.numeric))
        return pl.concat([encoded.ids, scores], how="horizontal") if encoded.ids.width else scores

    def frames() -> Iterator[pl.DataFrame]:
        nonlocal written
        for frame in ordered_map(score, rows.blocks(), further=1):  # one more, since the cores also read
            written += frame.height
            yield frame

    lazy = pl.io.plugins.register_io_source(lambda *_: frames(), schema=schema)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:  # given a path, polars may create the file after an error has been raised
            SINKS[out.suffix](lazy, file)

    remove_killed(out)
    write_atomically(out, write)
    rows.tell()
    return Written(written, time.perf_counter() - begin)
