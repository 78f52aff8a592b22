"""Own files read once into Arrow files beside the table's place, from which columns are read again."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl
from rich.progress import Progress

from llp.datasets.files.content import OwnFiles, find_files
from llp.datasets.files.options import Reading
from llp.datasets.files.read import FilesReader
from llp.datasets.raw_lines import BadLines
from llp.datasets.staging import PARTS_AT_ONCE
from llp.errors import InputError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StagedFiles:
    """Files that were read: Arrow files in the rows' order, and what is known of them."""

    parts: list[Path]
    rows: int
    reader: FilesReader

    @property
    def lazy(self) -> pl.LazyFrame:
        """All rows."""
        return pl.scan_ipc(self.parts, glob=False)

    def groups(self) -> list[list[Path]]:
        """The Arrow files in groups, each of a size to be coded at once."""
        return [self.parts[i : i + PARTS_AT_ONCE] for i in range(0, len(self.parts), PARTS_AT_ONCE)]


def stage_files(
    names: Sequence[str],
    option: str,
    reading: Reading,
    choose: Callable[[list[str]], list[str]],
    *,
    errors: Literal["stop", "skip"],
    folder: Path,
    progress: Progress,
) -> StagedFiles:
    """Read files into Arrow files.

    Raises
    ------
    InputError
        See `FilesReader.frames`; or `choose` refuses the columns.
    """
    task = progress.add_task(f"read {option}", total=None, detail="")
    files = OwnFiles(find_files(names, option=option), lambda n: progress.advance(task, n))
    progress.update(task, total=files.total_bytes)

    reader = FilesReader(files, reading, BadLines(errors), choose)
    folder.mkdir()
    parts: list[Path] = []
    rows, kinds = 0, pl.Schema()
    for frame in reader.frames():
        part = folder / f"{len(parts):06}.arrow"
        kinds = kinds or frame.schema
        _same_kinds(frame, kinds).write_ipc(part, compression="uncompressed")
        parts.append(part)
        rows += frame.height
        progress.update(task, detail=f"{rows:,} rows")
    if reader.bad_lines.count:
        log.warning("%d record(s) left out, such as: %s", reader.bad_lines.count, "; ".join(reader.bad_lines.shown))
    if reader.repeated_headers:
        log.warning("%d repeated header(s) left out", reader.repeated_headers)
    return StagedFiles(parts, rows, reader)


def _same_kinds(frame: pl.DataFrame, kinds: pl.Schema) -> pl.DataFrame:
    """The frame with the first one's types.

    Raises
    ------
    InputError
        A column of another file holds something else.
    """
    for name, kind in kinds.items():
        found = frame.schema[name]
        if found != kind and not (found.is_numeric() and kind == pl.Float64):
            raise InputError(f"column {name!r} is {kind} in the first file and {found} in another: write them alike")
    return frame.cast(kinds)
