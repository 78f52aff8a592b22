"""Bags: a view on an instance table, row numbers in an order and offsets; their kinds are in `llp.data.keys`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llp.data.cells import Cells
from llp.data.table import InstanceTable
from llp.errors import InputError

Rows = NDArray[np.int64]  # row numbers of a table
Ids = NDArray[np.int64]  # positions in a list of bags, or of rows
COUNTED = 200_000  # rows from which on counting is worth its import


@dataclass(frozen=True)
class Bags:
    """K bags over the rows of a table.

    Attributes
    ----------
    rows : ndarray
        int64 row numbers, bag after bag; each row at most once, but in given bags that overlap and in a report.
    offsets : ndarray
        int64 (K + 1): bag b holds `rows[offsets[b]:offsets[b + 1]]`.
    label_sum : ndarray
        float64 (K): sum of the labels of each bag.
    number : ndarray or None
        int64 (K): which of the table's given bags, or of a report's cells, each of them is; None for others.
    noise_variance : ndarray or None
        float64 (K): of the noise in each sum, where it is known.
    cells : Cells or None
        Of feature bags and a report: which cell each bag is, in the same order.
    counts : ndarray or None
        float64 (K): instances of each cell as its report says, where the table's rows are but a sample of those.
    """

    rows: Rows
    offsets: NDArray[np.int64]
    label_sum: NDArray[np.float64]
    number: NDArray[np.int64] | None = None
    noise_variance: NDArray[np.float64] | None = None
    cells: Cells | None = None
    counts: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.label_sum)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64 (K): instances of each bag."""
        sizes: NDArray[np.int64] = np.diff(self.offsets)
        return sizes

    @property
    def label_mean(self) -> float:
        """Pooled label mean p: by instances, never the mean of the bags' proportions."""
        return float(self.label_sum.sum() / self.summed.sum())

    @property
    def summed(self) -> NDArray[np.integer] | NDArray[np.float64]:
        """(K): instances whose labels each sum is of, of which a sample's rows are only some."""
        return self.sizes if self.counts is None else np.maximum(self.counts, 1)

    def of_their_rows(self) -> "Bags":
        """The same bags with the sums that the rows at hand would have: of a sample, its share of each."""
        return self if self.counts is None else replace(self, label_sum=self.label_sum * self.sizes / self.summed)

    @property
    def instances(self) -> Rows:
        """int64, rising: the rows that they are of, each once."""
        found: Rows = np.unique(self.rows)
        return found

    @property
    def overlap(self) -> bool:
        """Whether a row is in several of the bags; only given ones, and cells of a report, can."""
        return self.number is not None and int(np.bincount(self.rows).max(initial=0)) > 1

    def at(self, rows: Rows) -> "Bags":
        """The same bags with the rows of another table."""
        return replace(self, rows=rows)

    def select(self, bags: NDArray[np.int64]) -> "Bags":
        """Only the given bags, in the given order."""
        rows = self.rows[positions_of(self.offsets[bags], self.sizes[bags])]
        return replace(self, rows=rows, **self._chosen(bags))

    def _chosen(self, bags: NDArray[np.int64]) -> dict[str, Any]:
        """What is said of the given bags, but for their rows."""
        optional = ("number", "noise_variance", "counts")
        chosen = {name: one[bags] for name in optional if (one := getattr(self, name)) is not None}
        cells = None if self.cells is None else self.cells.select(bags)
        offsets = np.append(0, np.cumsum(self.sizes[bags]))
        return {"offsets": offsets, "label_sum": self.label_sum[bags], "cells": cells, **chosen}


@dataclass(frozen=True)
class CellBags(Bags):
    """The cells of a report of the rows `held`; the rows of each are found when asked for: they fill the memory."""

    rows: Rows = field(init=False, repr=False)
    held: Rows = field(kw_only=True)  # rising
    categorical: NDArray[np.int32] = field(kw_only=True, repr=False)  # (N, Fc) codes of the table's rows

    def __getattr__(self, name: str) -> Any:
        if name != "rows" or self.cells is None:
            raise AttributeError(name)
        ids = self.cells.of_rows(self.categorical[self.held])
        by_query = [self.held[np.argsort(one, kind="stable")[: (one <= len(self)).sum()]] for one in ids.T]
        object.__setattr__(self, "rows", np.concatenate(by_query))
        return self.rows

    @property
    def instances(self) -> Rows:
        """See `Bags.instances`; those in no published cell too."""
        return self.held

    @property
    def overlap(self) -> bool:
        """See `Bags.overlap`."""
        return self.cells is not None and len(self.cells.queries) > 1

    def select(self, bags: NDArray[np.int64]) -> "CellBags":
        """See `Bags.select`, at rising positions."""
        return replace(self, **self._chosen(bags))


def positions_of(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The runs `starts[b] .. starts[b] + sizes[b] - 1`, one after another: int64 (sum of sizes)."""
    begin = np.cumsum(sizes) - sizes  # where each run begins in the answer: 0, 1, 2, ... is shifted by start - begin
    positions: NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(starts - begin, sizes)
    return positions


def make_bags(rows: Rows, offsets: NDArray[np.int64], label: NDArray[np.float32]) -> Bags:
    """Bags from an order of rows and offsets; `label` (N,) is the table's."""
    # in float64: a bag may hold millions of rows, and float32 counts to 2^24 only. reduceat wants no empty bag
    label_sum = np.add.reduceat(np.asarray(label[rows], np.float64), offsets[:-1])
    return Bags(rows, offsets, label_sum)


def combinations(columns: Sequence[str], sizes: Sequence[int]) -> int:
    """How many values a key of columns may have; refuses more than integers of 63 bits."""
    if (space := math.prod(sizes)) >= 2**63:
        raise InputError(f"the key {'_'.join(columns)} has more value combinations than 2^63: use fewer columns.")
    return space


def key_codes(table: InstanceTable, columns: tuple[str, ...]) -> NDArray[np.uint64]:
    """One number per row (N,) for its values in the key's columns; its order is the columns' order."""
    sizes = dict(zip(table.categorical_names, table.vocab_sizes, strict=True))
    combinations(columns, [sizes[column] for column in columns])
    key = np.zeros(table.n_rows, np.uint64)  # digits of a number whose bases are the vocabulary sizes
    for column in columns:
        key *= np.uint64(sizes[column])
        key += table.codes(column).view(np.uint32)  # unsigned: without a copy to int64
    return key


def group_rows(key: NDArray[np.uint64], rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """Bring rising rows (m,) of equal key together: rows by (key, row), and where each group begins (groups + 1)."""
    row_bits = int(rows[-1]).bit_length() if len(rows) else 0
    greatest = int(key.max(initial=0))
    if greatest < len(rows) >= COUNTED:
        from llp.data.counting import group_by_counting  # imports numba

        return group_by_counting(key, rows, greatest + 1)
    if greatest.bit_length() + row_bits <= 64:
        # key and row fit into one integer: one sort in place, three times as fast as sorting an index by the key
        both = (key << np.uint64(row_bits)) | rows.view(np.uint64)
        both.sort()
        ordered_key = both >> np.uint64(row_bits)
        both &= np.uint64((1 << row_bits) - 1)
        ordered_rows = both.view(np.int64)
    else:
        order = np.argsort(key, kind="stable")
        ordered_key, ordered_rows = key[order], rows[order]
    begins = np.flatnonzero(ordered_key[1:] != ordered_key[:-1]) + 1
    return ordered_rows, np.concatenate([[0], begins, [len(rows)]]).astype(np.int64)
