"""Records in Arrow files: parsed and written in threads, in order, and read again column by column."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from rich.progress import Progress, TaskID

from llp.datasets.ordered_map import ordered_map
from llp.datasets.reading.records import BadLines
from llp.errors import InputError

PARTS_AT_ONCE = 8  # that are coded together: each time the vocabularies are hashed again
IN_ORDER_ROWS = 2**18


class Parsed(NamedTuple):
    """A block that was parsed."""

    frame: pl.DataFrame  # the rows that are kept
    file: str  # where they stand
    records: int  # how many fit, kept or not
    messages: list[str]  # what is wrong with the others
    repeated_headers: int = 0  # how many stood among them


@dataclass(frozen=True)
class Staged:
    """Records that were read: Arrow files in the records' order, and what is known of them."""

    parts: list[Path]
    rows: int  # in all of them
    bad_lines: BadLines  # records that were left out
    source: dict[str, Any]  # names, bytes and checksum of the raw files
    repeated_headers: int = 0  # stood among the records, and were left out
    starts: list[tuple[str, int]] = field(default_factory=list)  # the texts, each with the rows before it

    def place(self, row: int) -> str:
        """Name the file that a row, from 0, is of, and which of its records it is."""
        return place(self.starts, row)

    @property
    def lazy(self) -> pl.LazyFrame:
        """All rows."""
        return pl.scan_ipc(self.parts, glob=False)

    def groups(self) -> list[list[Path]]:
        """The files in groups, in order, each of a size to be coded at once."""
        return [self.parts[i : i + PARTS_AT_ONCE] for i in range(0, len(self.parts), PARTS_AT_ONCE)]


def in_order(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Blocks of rows, each in one piece: sums over them are equal to the bit in every run, streaming ones are not."""
    for start in range(0, rows.select(pl.len()).collect(engine="streaming").item(), IN_ORDER_ROWS):
        yield rows.slice(start, IN_ORDER_ROWS).collect().rechunk()


def place(starts: Sequence[tuple[str, int]], row: int) -> str:
    """Name the text that a row, from 0, is of, given where the texts start, and which of its records it is."""
    name, start = next(one for one in reversed(starts) if one[1] <= row)
    return f"{name}, record {row - start + 1}"


def write_parts(
    blocks: Iterable[Callable[[], Parsed]],
    add: Callable[[Parsed], None],
    *,
    folder: Path,
    progress: Progress,
    task: TaskID,
) -> tuple[list[Path], int]:
    """Parse blocks in threads into Arrow files of the same types, `add` their findings in order: files and rows."""

    def write(numbered: tuple[int, Callable[[], Parsed]]) -> tuple[Path, Parsed]:
        number, parse = numbered
        parsed = parse()
        part = folder / f"{number:06}.arrow"
        if parsed.frame.height:
            parsed.frame.write_ipc(part, compression="uncompressed")  # Parquet takes five times as long
        return part, parsed

    parts: list[Path] = []
    rows, kinds = 0, pl.Schema()
    for part, parsed in ordered_map(write, enumerate(blocks)):
        add(parsed)
        if not parsed.frame.height:
            continue
        kinds = kinds or parsed.frame.schema
        for name, kind in parsed.frame.schema.items():
            if kinds[name] != kind:
                raise InputError(
                    f"column {name!r} is {kinds[name]} in one file and {kind} in {parsed.file}: write alike"
                )
        parts.append(part)
        rows += parsed.frame.height
        progress.update(task, detail=f"{rows:,} rows")
    return parts, rows
