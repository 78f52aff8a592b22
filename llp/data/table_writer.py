"""Writing an instance table: beside its place first, renamed when it is whole."""

import dataclasses
import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.row_checks import checked_codes, checked_labels, checked_numbers, checked_weights
from llp.data.table import Column, LabelKind, Schema
from llp.data.table_place import check_replaceable, put_in_place, temporary_folder
from llp.data.vocabulary import write_vocabulary
from llp.errors import InputError
from llp.files import naming

CHUNK_ROWS = 2**18  # larger chunks make the peak memory grow with the rows
TRANSPOSE_ROWS = 2**12  # a transposing copy of this many rows stays in the processor's cache


def create_array(path: Path, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A memory-mapped .npy file; a disk without room says so now, where a write to the map would kill the process."""
    if 0 in shape:  # a memory map cannot be empty
        np.save(path, np.empty(shape, dtype))
        return np.empty(shape, dtype)
    array: NDArray[Any] = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if sys.platform == "linux":
        with path.open("rb+") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    return array


class TableWriter:
    """Writes a table in a temporary folder beside its place; leaving the `with` block renames it when whole.

    Parameters
    ----------
    folder : Path
        The table's place. Nothing appears there before the table is complete.
    columns : sequence of Column
        Its columns, in order.
    label_kind : {'binary', 'real'}
        Kind of the label.
    rows : int
        Number of instances, N.

    Attributes
    ----------
    temporary : Path
        The folder that takes the table's place in the end, for further files of its own.
    categorical : ndarray
        (N, Fc) int32: the codes, of the rows that were written.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "visits"
    >>> columns = [Column("clinic", "categorical", 40)]
    >>> with TableWriter(folder, columns, label_kind="binary", rows=3) as writer:
    ...     writer.write(0, np.array([[0], [39]]), None, np.array([0, 1]))
    ...     writer.write(2, np.array([[7]]), None, np.array([1]))
    ...     writer.finish(made_by={}, source={}, facts={})
    >>> sorted(path.name for path in folder.iterdir())
    ['categorical.npy', 'columns.parquet', 'label.npy', 'numeric.npy', 'schema.json']
    """

    def __init__(self, folder: Path, columns: list[Column], *, label_kind: LabelKind, rows: int) -> None:
        if rows == 0:
            raise InputError(f"no row to write to {folder}: the source is empty.")
        self._folder = folder
        self._columns = tuple(columns)
        self._label_kind = label_kind
        self._rows = rows
        check_replaceable(folder)
        self.temporary = temporary_folder(folder)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(parents=True)
        self._of_codes = [column for column in columns if column.kind == "categorical"]
        self._names = [column.name for column in self._of_codes]
        n_numeric = len(columns) - len(self._names)
        try:
            with naming(folder):
                if 4 * rows * (len(columns) + 1) > shutil.disk_usage(self.temporary).free:  # 32 bits a value and label
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # before any room is taken from others
                self.categorical = create_array(self.temporary / "categorical.npy", np.int32, (rows, len(self._names)))
                self._numeric = create_array(self.temporary / "numeric.npy", np.float32, (rows, n_numeric))
                self._label = create_array(self.temporary / "label.npy", np.float32, (rows,))
        except BaseException:
            shutil.rmtree(self.temporary, ignore_errors=True)
            raise
        self._weight: NDArray[np.float32] | None = None
        self._encodings: dict[str, dict[str, Any]] = {}
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def write(
        self,
        start: int,
        categorical: NDArray[Any],
        numeric: NDArray[Any] | None,
        label: NDArray[Any],
        *,
        weight: NDArray[Any] | None = None,
        some_labels: bool = False,
    ) -> None:
        """Write the next rows: categorical (m, Fc) codes, numeric (m, Fn), label and weight (m,).

        `numeric` may be None where the table has no numeric column. A label is NaN where only its bag has one: that of
        all these rows, or with `some_labels` that of any.

        Raises
        ------
        InputError
            The rows do not follow the last ones; an array has another shape or type; a code is not in
            0..vocab_size-1, a label or a numeric value no finite float32, a label not 0 or 1 in a table of binary
            labels, or a weight below 0.
        """
        m = len(label)
        stop = start + m
        if start != self._written or stop > self._rows:
            raise InputError(
                f"rows {start} to {stop - 1} were to be written to {self._folder} after {self._written} of "
                f"{self._rows} rows: rows are written in order, each once"
            )
        if (weight is None) != (self._weight is None) and start > 0:
            raise InputError(f"weights for {self._folder} are given with all of its rows, or with none")
        if numeric is None:
            numeric = np.empty((m, 0), np.float32)
        self.categorical[start:stop] = checked_codes(categorical, start, m, self._of_codes)
        self._numeric[start:stop] = checked_numbers(numeric, start, (m, self._numeric.shape[1]))
        self._label[start:stop] = checked_labels(label, start, self._label_kind, some=some_labels)
        if weight is not None:
            checked = checked_weights(weight, start, m)
            if self._weight is None:
                self._weight = create_array(self.temporary / "weight.npy", np.float32, (self._rows,))
            self._weight[start:stop] = checked
        self._written = stop

    def set_vocabulary(self, column: str, values: pl.Series, *, missing: Sequence[str] = ()) -> None:
        """Keep which values of a categorical column have the codes 1, 2, ...: see `llp.data.vocabulary`."""
        self._encodings[column] = write_vocabulary(self.temporary, self._names.index(column), values, missing)

    def set_encoding(self, column: str, record: Mapping[str, Any]) -> None:
        """Keep how a column without a vocabulary was made, or the label: see `llp.data.vocabulary`."""
        self._encodings[column] = dict(record)

    def finish(
        self,
        *,
        made_by: Mapping[str, Any],
        source: Mapping[str, Any],
        facts: Mapping[str, Any],
        test_rows: int = 0,
        given_bags: int = 0,
        aggregates_only: bool = False,
    ) -> None:
        """Write `columns.parquet` and `schema.json`, flush everything to disk and put the folder in its place.

        A table that is there is moved away only now, when its successor is whole.

        Raises
        ------
        InputError
            Rows are missing.
        """
        if self._written != self._rows:
            raise InputError(
                f"{self._written} rows were written to {self._folder}, which was said to have {self._rows}"
            )
        self._sink_columns()
        schema = Schema(
            columns=self._columns,
            label_kind=self._label_kind,
            rows=self._rows,
            made_by=dict(made_by),
            source=dict(source),
            facts=dict(facts),
            encodings=self._encodings,
            test_rows=test_rows,
            given_bags=given_bags,
            aggregates_only=aggregates_only,
            weighted=self._weight is not None,
        )
        (self.temporary / "schema.json").write_text(json.dumps(dataclasses.asdict(schema), indent=1, allow_nan=False))
        for array in (self.categorical, self._numeric, self._label, self._weight):
            if isinstance(array, np.memmap):
                array.flush()
        for path in (path for path in self.temporary.rglob("*") if path.is_file()):
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        put_in_place(self.temporary, self._folder)

    def _sink_columns(self) -> None:
        schema = dict.fromkeys(self._names, pl.Int32)

        def chunks() -> Iterator[pl.DataFrame]:
            for start in range(0, self._rows, CHUNK_ROWS):
                columns = _transposed(self.categorical[start : start + CHUNK_ROWS])
                yield pl.DataFrame(dict(zip(self._names, columns, strict=True)), schema=schema)

        lazy = pl.io.plugins.register_io_source(lambda *_: chunks(), schema=schema)
        path = self.temporary / "columns.parquet"
        lazy.sink_parquet(path, compression="lz4", row_group_size=CHUNK_ROWS, statistics=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.temporary, ignore_errors=True)


def _transposed(block: NDArray[np.int32]) -> NDArray[np.int32]:
    columns = np.empty(block.shape[::-1], np.int32)
    for start in range(0, len(block), TRANSPOSE_ROWS):
        stop = start + TRANSPOSE_ROWS
        columns[:, start:stop] = block[start:stop].T
    return columns
