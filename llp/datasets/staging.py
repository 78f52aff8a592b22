"""Raw text to columns on disk, in parts, and counts over them: what the preparation of both Criteo files shares."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from llp.data.table import Column, LabelKind
from llp.data.table_writer import TableWriter
from llp.datasets.encode import Category, CodedLines, category
from llp.datasets.ordered_map import ordered_map
from llp.datasets.reading.files import Block, Files
from llp.datasets.reading.find import find_files
from llp.datasets.reading.layout import Layout, other_file
from llp.datasets.reading.lines import all_blocks, parse
from llp.datasets.reading.records import BadLines
from llp.datasets.reading.stage import Parsed, Staged, write_parts
from llp.errors import InputError

log = logging.getLogger(__name__)


def progress_bars() -> Progress:
    """Bars with the rows that are done and the time left."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )


def stage(
    raw: Sequence[str],
    layout: Layout,
    keep: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    errors: Literal["stop", "skip"],
    folder: Path,
    progress: Progress,
) -> Staged:
    """Read raw files into Arrow files of `folder`, with what `keep` makes of a block; wrong lines as `errors` says."""
    task = progress.add_task("read", total=None, detail="")
    files = Files(find_files(raw), lambda n: progress.advance(task, n), lambda text: other_file(text, layout))
    progress.update(task, total=files.total_bytes)
    lines, bad_lines = 0, BadLines(errors)

    def parsed(block: Block) -> Parsed:
        frame, messages = parse(block, layout)
        return Parsed(keep(frame), block.file, frame.height, messages)

    def add(found: Parsed) -> None:
        nonlocal lines
        bad_lines.add(found.messages)
        lines += found.records

    blocks = (partial(parsed, block) for block in all_blocks(files, layout))
    parts, rows = write_parts(blocks, add, folder=folder, progress=progress, task=task)
    if bad_lines.count:
        log.warning("%d line(s) left out, such as: %s", bad_lines.count, "; ".join(bad_lines.shown))
    if lines == 0:
        why = "but there are only names of columns"
        if bad_lines.count:
            why = f"but all are wrong, such as: {bad_lines.shown[0]}"
        raise InputError(f"Invalid raw={','.join(raw)}: expected lines of {layout.dataset}, {why}")
    if rows == 0:
        raise InputError(
            f"Invalid raw={','.join(raw)}: {layout.dataset} keeps {layout.keeps}, and none of {lines:,} lines is one"
        )
    return Staged(parts, rows, bad_lines, files.source())


def count_categories(
    staged: Staged, names: Sequence[str], *, rare_at_most: int, missing_is_value: bool, progress: Progress
) -> dict[str, Category]:
    """The vocabularies of categorical columns, one column after another: memory holds one column's distinct values."""
    task = progress.add_task("count", total=len(names), detail="")
    found = {}
    for name in names:
        values = staged.lazy.select(pl.col(name).alias("value"))
        counts = values.group_by("value").len().collect(engine="streaming")
        found[name] = category(counts, rare_at_most=rare_at_most, missing_is_value=missing_is_value)
        progress.update(task, advance=1, detail=f"{name}: {counts.height:,} values")
    return found


class Number(NamedTuple):
    """A number of each row: the column that it becomes, how, and how many rows lack it."""

    column: Column
    encoding: dict[str, Any]
    missing: int


@dataclass(frozen=True, kw_only=True)
class RawColumns:
    """What becomes of the columns of raw lines."""

    label_kind: LabelKind
    label_encoding: dict[str, Any] | None = None  # where the raw label is not the label
    numbers: Mapping[str, Number]  # by name, in order: they are the first columns
    categories: Mapping[str, Category]
    as_text: Callable[[pl.Series], pl.Series]  # known values as they stand in the file
    missing: Sequence[str]  # what stands there for a missing category
    published: Callable[[Mapping[str, int]], str]  # from the columns' sizes: whether this is the published file


def write_table(
    folder: Path,
    made_by: Mapping[str, Any],
    staged: Staged,
    encode: Callable[[pl.DataFrame], CodedLines],
    label_of: Callable[[pl.DataFrame], NDArray[np.floating]],
    raw: RawColumns,
    progress: Progress,
) -> None:
    """Code the staged rows and their labels (m,) in threads, write them in order, with how values became codes."""

    def coded(parts: list[Path]) -> tuple[CodedLines, NDArray[np.floating]]:
        frame = pl.scan_ipc(parts, glob=False).collect()
        return encode(frame), label_of(frame)

    columns = [number.column for number in raw.numbers.values()]
    sizes = {column.name: column.vocab_size for column in columns if column.vocab_size is not None}
    sizes |= {name: len(one.known) + one.any_rare for name, one in raw.categories.items()}
    lacking = {name: one.missing for name, one in raw.numbers.items()}
    lacking |= {name: one.missing for name, one in raw.categories.items()}
    vocabularies = {name: raw.as_text(one.known) for name, one in raw.categories.items()}
    columns += [Column(name, "categorical", len(known) + 1, "rare merged") for name, known in vocabularies.items()]
    facts = {
        "missing_share": {name: n / staged.rows for name, n in lacking.items()},
        "lines_left_out": staged.bad_lines.count,
        "published": raw.published(sizes),
    }
    task = progress.add_task("code", total=staged.rows, detail="")
    start, label_sum = 0, 0.0
    with (
        closing(ordered_map(coded, staged.groups())) as groups,
        TableWriter(folder, columns, label_kind=raw.label_kind, rows=staged.rows) as writer,
    ):
        for lines, label in groups:
            writer.write(start, lines.codes, lines.numbers, label)
            start += len(label)
            label_sum += float(label.sum(dtype=np.float64))
            progress.update(task, completed=start, detail=f"{start:,} rows")
        if raw.label_encoding is not None:
            writer.set_encoding("label", raw.label_encoding)
        for name, number in raw.numbers.items():
            writer.set_encoding(name, number.encoding)
        for name, known in vocabularies.items():
            writer.set_vocabulary(name, known, missing=raw.missing)
        writer.finish(made_by=made_by, source=staged.source, facts={"label_mean": label_sum / staged.rows} | facts)
