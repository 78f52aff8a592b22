"""A copy of a table's arrays with their rows in another order, in bounded memory: a distribution sort in two passes.

The first pass reads the table from its first row to its last and appends every row to its bucket, a part of the copy
that fits into memory; the second brings a bucket's rows into their order. Polars' streaming sort is no shorter way: of
a table of 0.9 GB it held 2.3 GB in memory (2.1.0), and what it sinks is no array that is mapped row by row.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llp import signals
from llp.data.bags import Rows
from llp.data.table_writer import create_array

Copies = list[tuple[NDArray[Any], NDArray[Any]]]  # what is copied, and its memory-mapped copy


def write_in_order(arrays: dict[Path, NDArray[Any]], order: Rows, buffer_bytes: int) -> None:
    """Write the rows `order` (n,), some perhaps several times, of memory-mapped arrays (N, ...) as .npy files.

    A bucket, and the part of the table in memory beside it, take `buffer_bytes` each; the order 8 bytes a row twice.
    """
    made = [(one, create_array(path, one.dtype, (len(order), *one.shape[1:]))) for path, one in arrays.items()]
    copies = [(source, copy) for source, copy in made if copy.size]
    if not copies:
        return
    step = max(1, buffer_bytes // sum(copy[0].nbytes for _, copy in copies))
    buckets = [slice(start, min(start + step, len(order))) for start in range(0, len(order), step)]
    _distribute(copies, order, buckets, step)
    for bucket in buckets:
        signals.exit_if_received()
        place = np.argsort(order[bucket], kind="stable")
        for _, copy in copies:
            copy[bucket][place] = np.array(copy[bucket])


def _distribute(copies: Copies, order: Rows, buckets: list[slice], step: int) -> None:
    """Append every row to its bucket, in the table's order."""
    rising = order.copy()
    for bucket in buckets:
        rising[bucket].sort()
    filled = [bucket.start for bucket in buckets]
    for begin in range(0, len(copies[0][0]), step):
        signals.exit_if_received()
        parts = [np.array(source[begin : begin + step]) for source, _ in copies]
        for number, bucket in enumerate(buckets):
            start = filled[number]
            filled[number] = stop = start + int(np.searchsorted(rising[start : bucket.stop], begin + step))
            for (_, copy), part in zip(copies, parts, strict=True):
                copy[start:stop] = part[rising[start:stop] - begin]
