"""Rows to be scored, as they are in a table or in files, in blocks of bounded size."""

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.table import InstanceTable
from llp.datasets.files.read import FilesReader
from llp.datasets.files.recipe import Recipe
from llp.datasets.reading.files import Files
from llp.datasets.reading.find import find_files
from llp.datasets.reading.records import BadLines
from llp.datasets.reading.stage import place
from llp.errors import InputError

log = logging.getLogger(__name__)

BLOCK_ROWS = 2**16


class EncodedRows(NamedTuple):
    """Rows as the models take them."""

    ids: pl.DataFrame  # (n, 1 or 0 columns)
    categorical: NDArray[np.int32]  # (n, Fc)
    numeric: NDArray[np.float32]  # (n, Fn)


class TableRows:
    """All rows of a table, in order; `on_read` is called with the number of rows that were read, `total` in all."""

    def __init__(self, table: InstanceTable, on_read: Callable[[int], None]) -> None:
        self._table = table
        self._on_read = on_read
        self.paths: list[Path] = []
        ids = table.folder / "ids.parquet"
        self._ids = pl.scan_parquet(ids, glob=False) if ids.is_file() else None
        self.total = table.n_rows
        self.id_schema = pl.Schema() if self._ids is None else self._ids.collect_schema()

    def blocks(self) -> Iterator[Callable[[], EncodedRows]]:
        """Functions that encode the blocks: they are called in threads."""
        for start in range(0, self._table.n_rows, BLOCK_ROWS):
            yield partial(self._block, start)

    def _block(self, start: int) -> EncodedRows:
        part = slice(start, start + BLOCK_ROWS)
        ids = pl.DataFrame() if self._ids is None else self._ids.slice(start, BLOCK_ROWS).collect()
        codes, numbers = np.array(self._table.categorical[part]), np.array(self._table.numeric[part])
        self._on_read(len(codes))
        return EncodedRows(ids, codes, numbers)

    def tell(self) -> None:
        """Say nothing: the model knows all of them."""


class FilesRows:
    """All rows of files like those that a table was made from; `on_read` is called with the number of bytes read."""

    def __init__(self, names: Sequence[str], recipe: Recipe, on_read: Callable[[int], None]) -> None:
        found = find_files(names, option="files")
        files = Files(found, on_read)
        self.paths = [file.path for file in found]
        self.total = files.total_bytes
        self._recipe = recipe
        self._coder = recipe.coder()
        self._coded: list[tuple[int, NDArray[np.int64]]] = []  # rows of each block, and `CodedRows.unknown`
        self.id_schema = pl.Schema()
        self._reader = FilesReader(
            files, recipe.options.reading, BadLines("stop", may_skip=False), self._wanted,
            ignored=recipe.options.roles.ignore, may_lack=recipe.options.roles.label, raw=True,
        )  # fmt: skip
        frames = self._reader.frames()
        first = next(frames)
        self._frames = itertools.chain([first], frames)
        id_column = recipe.options.roles.id_column
        if id_column in first.columns:
            self.id_schema = first.select(id_column).schema

    def _wanted(self, file: str, columns: list[str]) -> list[str]:
        recipe = self._recipe
        missing = [name for name in recipe.raw_columns if name not in columns]
        if missing:
            raise InputError(
                f"{file} has no column {', '.join(map(repr, missing))}, which the model needs; it has "
                f"{', '.join(columns)}"
            )
        roles = recipe.options.roles
        named = {*recipe.raw_columns, *roles.not_features}
        if further := [name for name in columns if name not in named]:
            log.warning("the model does not know the column(s) %s: left out", ", ".join(further))
        in_file = [name for name in columns if name in recipe.raw_columns]
        if in_file != recipe.raw_columns:
            log.info("the columns stand in another order than in training: they are taken by their names")
        ids = [name for name in columns if name == roles.id_column]
        return [*ids, *recipe.raw_columns]

    def blocks(self) -> Iterator[Callable[[], EncodedRows]]:
        """Functions that encode the blocks: they are called in threads."""
        first = 0  # row of the frame, among all
        for frame in self._frames:
            for start in range(0, frame.height, BLOCK_ROWS):
                yield partial(self._encoded, frame.slice(start, BLOCK_ROWS), first + start)
            first += frame.height

    def _encoded(self, frame: pl.DataFrame, first: int) -> EncodedRows:
        codes, numbers, unknown = self._coder.encode(frame, lambda row: place(self._reader.starts, first + row))
        self._coded.append((frame.height, unknown))
        return EncodedRows(frame.select(self.id_schema.names()), codes.T, numbers)

    def tell(self) -> None:
        """Say how many values the model does not know, once all rows are scored; warn where a column holds no other."""
        rows, counts = sum(n for n, _ in self._coded), np.sum([unknown for _, unknown in self._coded], axis=0)
        features = list(zip(self._recipe.features, counts.tolist(), strict=True))
        values = {one.name: count for one, count in features if count and one.has_vocabulary}
        numbers = {one.column: count for one, count in features if count and not one.has_vocabulary}
        empty = {name for name, known in self._recipe.vocabularies.items() if known.drop_nulls().is_empty()}
        for found, what, nothing in (
            (values, "values unknown to the model (never or seldom seen)", "no value that the model knows"),
            (numbers, "missing numbers (scored as the mean, or as bin 0)", "no number"),
        ):
            if found:
                shown = ", ".join(f"{name} {count:,} ({count / rows:.1%})" for name, count in found.items())
                log.info("of %s row(s), %s: %s", f"{rows:,}", what, shown)
            for name in (name for name, count in found.items() if count == rows and name not in empty):
                log.warning("%r holds %s: is it written as in the files that were trained on?", name, nothing)
