"""A copy of a table's arrays with their rows in another order, in bounded memory.

A distribution sort in two passes. The copy is cut into buckets that fit into memory. The first pass reads the table
once, from its first row to its last, and appends every row to its bucket; there they lie in the table's order. The
second pass reads a bucket, brings its rows into their order and writes it back: the disk holds nothing but the copy.

Polars' streaming sort is no shorter way: of a table of 0.9 GB it held 2.3 GB in memory, and 1.3 GB with a budget of
0.3 GB for it (2.1.0, both rising with the rows), and what it sinks is no array that is mapped row by row.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llp import signals
from llp.data.bags import Rows


@dataclass(frozen=True)
class _Column:
    """An array on disk that is written in parts."""

    path: Path
    source: NDArray[Any]
    rows: int

    @property
    def row_bytes(self) -> int:
        return self.source.itemsize * int(np.prod(self.source.shape[1:]))

    def create(self) -> None:
        """Write the header, and as many zeros as rows need."""
        with self.path.open("wb") as file:
            shape = (self.rows, *self.source.shape[1:])
            header = {"descr": np.lib.format.dtype_to_descr(self.source.dtype), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.truncate(file.tell() + self.rows * self.row_bytes)

    def start(self, row: int) -> int:
        return self.path.stat().st_size - (self.rows - row) * self.row_bytes

    def write(self, row: int, values: NDArray[Any]) -> None:
        with self.path.open("rb+") as file:
            file.seek(self.start(row))
            file.write(np.ascontiguousarray(values).data)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        count = (stop - start) * self.row_bytes // self.source.itemsize
        flat = np.fromfile(self.path, self.source.dtype, count, offset=self.start(start))
        return flat.reshape(stop - start, *self.source.shape[1:])


def write_in_order(arrays: dict[Path, NDArray[Any]], order: Rows, buffer_bytes: int) -> None:
    """Write the rows `order` (n,) of each memory-mapped array (N, ...), in that order, to its path, a .npy file.

    A row may be in `order` several times, or not at all. A bucket, and the part of the table that is in memory beside
    it, take `buffer_bytes` each; the order itself takes 8 bytes a row twice.
    """
    columns = [_Column(path, source, len(order)) for path, source in arrays.items()]
    for column in columns:
        column.create()
    columns = [column for column in columns if column.row_bytes and len(order)]
    if not columns:
        return
    step = max(1, buffer_bytes // sum(column.row_bytes for column in columns))
    buckets = [slice(start, min(start + step, len(order))) for start in range(0, len(order), step)]
    _distribute(columns, order, buckets, step)
    for bucket in buckets:
        signals.exit_if_received()
        place = np.argsort(order[bucket], kind="stable")
        for column in columns:
            rows = column.read(bucket.start, bucket.stop)
            ordered = np.empty_like(rows)
            ordered[place] = rows
            column.write(bucket.start, ordered)


def _distribute(columns: list[_Column], order: Rows, buckets: list[slice], step: int) -> None:
    """Append every row to its bucket, in the table's order."""
    rising = order.copy()
    for bucket in buckets:
        rising[bucket].sort()
    filled = [bucket.start for bucket in buckets]
    for begin in range(0, len(columns[0].source), step):
        signals.exit_if_received()
        parts = [np.array(column.source[begin : begin + step]) for column in columns]
        for number, bucket in enumerate(buckets):
            start = filled[number]
            stop = start + int(np.searchsorted(rising[start : bucket.stop], begin + step))
            if stop > start:
                rows = rising[start:stop] - begin
                for column, part in zip(columns, parts, strict=True):
                    column.write(start, part[rows])
                filled[number] = stop
