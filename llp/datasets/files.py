"""Own files to an instance table: `python -m llp.prepare dataset=files name=mine files=... label=...`.

The files are read once, block by block, into Arrow files beside the table's place; kinds, vocabularies and statistics
are found there, column by column; then the rows are coded and written. Memory holds the largest vocabulary and a few
blocks, whatever the number of rows.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.progress import Progress

from llp.data.table_writer import TableWriter
from llp.datasets.files_content import OwnFiles, find_files
from llp.datasets.files_features import fit_features, plan_features
from llp.datasets.files_kinds import RawColumn, check_names, find_kinds, kinds_table
from llp.datasets.files_label import find_label
from llp.datasets.files_options import FilesOptions, check_files_options
from llp.datasets.files_read import FilesReader
from llp.datasets.files_recipe import Recipe
from llp.datasets.files_values import number
from llp.datasets.ordered_map import ordered_map
from llp.datasets.raw_lines import BadLines
from llp.datasets.staging import PARTS_AT_ONCE, THREADS, progress_bars, scratch
from llp.errors import InputError

log = logging.getLogger(__name__)

FilesGiven = str | list[str]

LABEL = "label of the row"  # the name of a made column: no file's


def prepare(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    files: FilesGiven,
    test_files: FilesGiven | None,
    errors: Literal["stop", "skip"],
    reading: Mapping[str, Any],
    roles: Mapping[str, Any],
    coding: Mapping[str, Any],
) -> None:
    """Write the instance table of own files.

    Parameters
    ----------
    folder : Path
        Where the table goes.
    made_by : Mapping
        This function's name and options, for the table's schema.
    files, test_files : str or list of str
        Files, folders and globs; `test_files` hold a given test split, which plays no part in the vocabularies and
        statistics.
    errors : {'stop', 'skip'}
        What a record that does not fit, or lacks its label, does.
    reading, roles, coding : Mapping
        See `Reading`, `Roles` and `Coding`.

    Raises
    ------
    InputError
        A file or an option does not fit.
    """
    options = check_files_options({"reading": reading, "roles": roles, "coding": coding})
    with scratch(folder) as parts, progress_bars() as progress:
        given = {"files": files} if test_files is None else {"files": files, "test_files": test_files}
        staged = {
            option: stage_files(_listed(names), option, options, errors, parts / option, progress)
            for option, names in given.items()
        }
        train = staged["files"]
        label = find_label(train.lazy, options.roles, options.reading)
        raw_columns = find_kinds(train.lazy, options)
        progress.console.print(kinds_table(raw_columns, train.rows))
        features, vocabularies = fit_features(train.lazy, plan_features(raw_columns, options.coding), options)
        recipe = Recipe(options, label, features, vocabularies)
        _write(folder, made_by, staged, recipe, raw_columns, progress)


def _listed(files: FilesGiven) -> list[str]:
    return [files] if isinstance(files, str) else list(files)


@dataclass(frozen=True)
class StagedFiles:
    """Files that were read: Arrow files in the rows' order, and what is known of them."""

    parts: list[Path]
    rows: int
    reader: FilesReader

    @property
    def lazy(self) -> pl.LazyFrame:
        """All rows."""
        return pl.scan_ipc(self.parts)

    def groups(self) -> list[list[Path]]:
        """The Arrow files in groups, each of a size to be coded at once."""
        return [self.parts[i : i + PARTS_AT_ONCE] for i in range(0, len(self.parts), PARTS_AT_ONCE)]


def stage_files(
    names: Sequence[str], option: str, options: FilesOptions, errors: Literal["stop", "skip"], folder: Path,
    progress: Progress,
) -> StagedFiles:  # fmt: skip
    """Read files into Arrow files.

    Raises
    ------
    InputError
        See `FilesReader.frames`; or an option names a column that is not there.
    """
    task = progress.add_task(f"read {option}", total=None, detail="")
    files = OwnFiles(find_files(names, option=option), lambda n: progress.advance(task, n))
    progress.update(task, total=files.total_bytes)

    def wanted(columns: list[str]) -> list[str]:
        check_names(columns, options.roles)
        return [name for name in columns if name not in options.roles.ignore]

    reader = FilesReader(files, options.reading, BadLines(errors), wanted)
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


def _labelled(staged: StagedFiles, recipe: Recipe, option: str) -> tuple[pl.LazyFrame, int]:
    """The rows that have a label, with the label in `LABEL`, and how many they are.

    Raises
    ------
    InputError
        Rows without a label are not to be skipped, or no row has the positive one.
    """
    assert recipe.label is not None
    column = recipe.label.column
    kind = staged.lazy.collect_schema()[column]
    lazy = staged.lazy.with_columns(recipe.label.values(kind, recipe.options.reading).alias(LABEL))
    found = lazy.select(n=pl.col(LABEL).count(), sum=pl.col(LABEL).sum()).collect(engine="streaming")
    n, total = found.row(0)
    if n < staged.rows and staged.reader.bad_lines.errors == "stop":
        raise InputError(
            f"{staged.rows - n} of the {staged.rows} rows of {option} have no label in {column!r}, or one that is no "
            "number; correct them, or leave them out with errors=skip"
        )
    if recipe.label.kind == "binary" and total in (0, n):
        raise InputError(f"all {n} rows of {option} have the label {min(total, 1):g} in {column!r}: both are needed")
    return lazy.filter(pl.col(LABEL).is_not_null()), n


def _write(
    folder: Path, made_by: Mapping[str, Any], staged: Mapping[str, StagedFiles], recipe: Recipe,
    raw_columns: Sequence[RawColumn], progress: Progress,
) -> None:  # fmt: skip
    """Code the rows of the files, and of the test files behind them, and write the table."""
    assert recipe.label is not None
    labelled = {option: _labelled(one, recipe, option) for option, one in staged.items()}
    rows = sum(n for _, n in labelled.values())
    roles = recipe.options.roles
    with TableWriter(folder, recipe.table_columns, label_kind=recipe.label.kind, rows=rows) as writer:
        task = progress.add_task("code", total=rows, detail="")
        start, label_sum = 0, 0.0
        groups = [group for one in staged.values() for group in one.groups()]
        for coded in ordered_map(partial(_coded, recipe=recipe), groups, threads=THREADS):
            writer.write(start, coded.codes.T, coded.numbers, coded.label, weight=coded.weight)
            start += len(coded.label)
            label_sum += float(coded.label.sum())
            progress.update(task, completed=start, detail=f"{start:,} rows")
        recipe.save(writer)
        if roles.id_column is not None:
            ids = pl.concat(lazy.select(roles.id_column) for lazy, _ in labelled.values())
            ids.sink_parquet(writer.temporary / "ids.parquet")
        writer.finish(
            made_by=made_by,
            source={option: one.reader.files.source() for option, one in staged.items()},
            facts=_facts(staged, raw_columns, label_mean=label_sum / rows, rows=rows),
            test_rows=labelled["test_files"][1] if "test_files" in labelled else 0,
        )


def _facts(
    staged: Mapping[str, StagedFiles], raw_columns: Sequence[RawColumn], *, label_mean: float, rows: int
) -> dict[str, Any]:
    n_train = staged["files"].rows
    missing = {one.name: one.missing / n_train for one in raw_columns}
    return {
        "label_mean": label_mean,
        "missing_share": missing,
        "lines_left_out": sum(one.reader.bad_lines.count for one in staged.values()),
        "rows_without_label": sum(one.rows for one in staged.values()) - rows,
        "repeated_headers": sum(one.reader.repeated_headers for one in staged.values()),
    }


class _Coded(NamedTuple):
    """Rows of some parts: codes (Fc, m), numbers (m, Fn), label (m,), weight (m,) or None."""

    codes: NDArray[np.int32]
    numbers: NDArray[np.float32]
    label: NDArray[np.float64]
    weight: NDArray[np.float64] | None


def _coded(parts: list[Path], recipe: Recipe) -> _Coded:
    assert recipe.label is not None
    frame = pl.scan_ipc(parts).collect()
    reading, weight_column = recipe.options.reading, recipe.options.roles.weight_column
    label = recipe.label.values(frame.schema[recipe.label.column], reading)
    frame = frame.with_columns(label.alias(LABEL)).filter(pl.col(LABEL).is_not_null())
    weight = None
    if weight_column is not None:
        weights = frame.select(number(weight_column, frame.schema[weight_column], decimal=reading.decimal)).to_series()
        weight = weights.fill_null(float("nan")).to_numpy()
    return _Coded(*recipe.encode(frame), frame[LABEL].to_numpy(), weight)
