"""Passes over the cells of all instances, compiled: what a fit does again and again, each in rows × queries steps.

An instance's cells are a row of `cells` (n, Q) int32. Vectors over cells have a number for each of the P + 2 ids: 0 is
the intercept, which every instance is in, 1 … P are the published cells, and P + 1 stands for "not published", where
the number is always 0.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from llp.compiled import compiled

Vector = NDArray[np.float64]
"""Of instances (n,) or of cells (P + 2,)."""
CellIds = NDArray[np.uint32]
"""(Q, n)"""
TOGETHER = 4
"""Queries that a loop takes at once: the processor's cache holds the numbers of their cells, but may not those of all.
One alone would wait for each sum before it adds to it again."""


@compiled
def _score(ids: CellIds, theta: Vector, first: int, stop: int, out: Vector) -> None:
    out[first:stop] = theta[0]
    whole = len(ids) // TOGETHER * TOGETHER
    for q in range(0, whole, TOGETHER):
        a, b, c, d = ids[q], ids[q + 1], ids[q + 2], ids[q + 3]
        for i in range(first, stop):
            out[i] = out[i] + theta[a[i]] + theta[b[i]] + theta[c[i]] + theta[d[i]]
    for q in range(whole, len(ids)):
        for i in range(first, stop):
            out[i] += theta[ids[q, i]]


@compiled
def _add_up(ids: CellIds, values: Vector, first: int, stop: int, out: Vector) -> None:
    for i in range(first, stop):
        out[0] += values[i]
    whole = len(ids) // TOGETHER * TOGETHER
    for q in range(0, whole, TOGETHER):
        a, b, c, d = ids[q], ids[q + 1], ids[q + 2], ids[q + 3]
        for i in range(first, stop):
            value = values[i]
            out[a[i]] += value
            out[b[i]] += value
            out[c[i]] += value
            out[d[i]] += value
    for q in range(whole, len(ids)):
        for i in range(first, stop):
            out[ids[q, i]] += values[i]


class Passes:
    """The matrix K of n instances by P cells (n, Q), see above: one where an instance is in a cell.

    Each pass runs on threads, a range of rows each; sums are made range by range: last digits depend on their number.
    """

    def __init__(self, cells: NDArray[np.int32], n_cells: int, threads: int = 1) -> None:
        self.cells = cells
        self._ids = cells.view(np.uint32).T  # the same, so that the passes need not ask for negative ones
        self.n_cells = n_cells
        self._bounds = [len(cells) * i // threads for i in range(threads + 1)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def scores(self, theta: Vector) -> Vector:
        """(n,) Kθ: the sum of the numbers of each instance's cells and the intercept's."""
        out = np.empty(len(self.cells))
        self._in_ranges(lambda first, stop: _score(self._ids, theta, first, stop, out))
        return out

    def sums(self, values: Vector) -> Vector:
        """(P + 2,) K'y: the sum of a value (n,) of the instances over each cell."""
        parts = np.zeros((len(self._bounds) - 1, self.n_cells + 2))
        slots = dict(zip(self._bounds, parts, strict=False))
        self._in_ranges(lambda first, stop: _add_up(self._ids, values, first, stop, slots[first]))
        total: Vector = parts.sum(0)
        total[-1] = 0  # nothing is known of what is not published
        return total

    def curvature(self, weights: Vector, direction: Vector) -> Vector:
        """(P + 2,) K'(w ∘ Kv)."""
        return self.sums(weights * self.scores(direction))

    def _in_ranges(self, work: Callable[[int, int], None]) -> None:
        ranges = list(pairwise(self._bounds))
        if self._pool is None:
            work(*ranges[0])
        else:
            list(self._pool.map(lambda bounds: work(*bounds), ranges))
