"""Counting the groups of a grouping key: the one place of the analysis where the time goes.

Columns and label become one integer per row, counted directly where few are possible, else sorted; both release the
interpreter lock for threads.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llp.data.bags import combinations, group_rows
from llp.data.table import InstanceTable, LabelKind

DIRECT_LIMIT = 2**22  # key values up to which an array of counters stays near the processor's cache

Codes = NDArray[np.uint8 | np.uint16 | np.int32]


class GroupCounts(NamedTuple):
    """The groups of one grouping key over a whole table."""

    n_instances: int  # N, rows of the table
    n_groups: int  # all groups, however small
    size: NDArray[np.int64]  # (G,) of groups with the smallest size that matters, or more
    label_sum: NDArray[np.float64]  # (G,)


class CodeColumn(NamedTuple):
    """One categorical column in memory."""

    name: str
    codes: Codes  # (N,)
    vocab_size: int


def read_column(table: InstanceTable, name: str) -> CodeColumn:
    """Read one column in the narrowest integer type that holds its codes: 26 columns must fit in memory."""
    vocab_size = table.vocab_sizes[table.categorical_names.index(name)]
    narrow = np.uint8 if vocab_size <= 2**8 else np.uint16 if vocab_size <= 2**16 else np.int32
    return CodeColumn(name, table.codes(name).astype(narrow), vocab_size)


def count_groups(
    columns: Sequence[CodeColumn], label: NDArray[np.float32], label_kind: LabelKind, smallest: int
) -> GroupCounts:
    """Count the groups of the key that columns make, those below `smallest` rows in `n_groups` alone."""
    space = combinations([column.name for column in columns], [column.vocab_size for column in columns])
    count = _count_binary if label_kind == "binary" else _count_real
    n_groups, size, label_sum = count(_join(columns, 2 * space), space, label, smallest)
    return GroupCounts(len(label), n_groups, size, label_sum)


Counted = tuple[int, NDArray[np.int64], NDArray[np.float64]]
JoinedCodes = NDArray[np.uint32 | np.uint64]


def _join(columns: Sequence[CodeColumn], space: int) -> JoinedCodes:
    """One integer per row for its values, in the narrowest type that holds `space` values."""
    key: JoinedCodes = columns[0].codes.astype(np.uint32 if space <= 2**32 else np.uint64)
    for column in columns[1:]:
        key *= key.dtype.type(column.vocab_size)
        key += column.codes.astype(key.dtype)
    return key


def _count_binary(key: JoinedCodes, space: int, label: NDArray[np.float32], smallest: int) -> Counted:
    key <<= key.dtype.type(1)
    key |= label.astype(key.dtype)  # one more binary digit: no look-up of labels after the sort
    if space <= DIRECT_LIMIT:
        counts = np.bincount(key, minlength=2 * space)
        positive = counts[1::2]
        size = counts[::2] + positive
        keep = size >= max(smallest, 1)
        return int(np.count_nonzero(size)), size[keep], positive[keep].astype(np.float64)
    key.sort()
    values = key >> key.dtype.type(1)
    end = np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, len(key))  # of each run of equal values
    size = np.diff(end, prepend=0)
    keep = size >= smallest
    end, size = end[keep], size[keep]
    first_positive = np.searchsorted(key, key[end - 1] | key.dtype.type(1), side="left")
    return len(keep), size, np.minimum(end - first_positive, size).astype(np.float64)


def _count_real(key: JoinedCodes, space: int, label: NDArray[np.float32], smallest: int) -> Counted:
    if space <= DIRECT_LIMIT:
        size: NDArray[np.int64] = np.bincount(key, minlength=space)
        keep = size >= max(smallest, 1)
        label_sum = np.bincount(key, weights=label, minlength=space)
        return int(np.count_nonzero(size)), size[keep], label_sum[keep].astype(np.float64)
    rows, offsets = group_rows(key.astype(np.uint64), np.arange(len(key)))
    size = np.diff(offsets)
    keep = size >= smallest
    return len(size), size[keep], np.add.reduceat(label[rows].astype(np.float64), offsets[:-1])[keep]
