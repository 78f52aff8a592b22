"""A preconditioner of fits on cells that knows which columns the queries share.

By the diagonal alone, conjugate gradients take long for two reasons. What a column says by itself is in every query
that has it: the Hessian is large there, by their number. And θ can be moved from one of these queries to another
without a change of any score: only the penalty speaks there. Both are in the margins: what a query's cells of one value
of one column have in common. On these the Hessian is taken as that of the columns themselves, with the mean of the
instances' weights; on what is left of a query without its margins, which it shares with no other, as its diagonal.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from llp.compiled import compiled
from llp.data.cells import Cells
from llp.reports.passes import Vector

MOST_VALUES = 2000
"""Of all columns together, whose margins are used: the columns of fewest values are."""


MarginIds = NDArray[np.int32]
"""(P + 2,) the margin of each cell."""


@compiled
def _add_up(of: MarginIds, values: Vector, totals: Vector) -> None:
    for j in range(len(of)):
        totals[of[j]] += values[j]


@compiled
def _add(of: MarginIds, values: Vector, out: Vector) -> None:
    for j in range(len(of)):
        out[j] += values[of[j]]


@compiled
def _without(of: MarginIds, diagonal: Vector, shares: Vector, rest: Vector) -> None:
    """Leave of the cells' numbers what is not their margins'."""
    common = np.zeros(len(shares))
    for j in range(len(of)):
        common[of[j]] += rest[j]
    common *= shares
    for j in range(len(of)):
        rest[j] -= diagonal[j] * common[of[j]]


class Margins:
    """The margins of all queries: for each of its columns and each of the column's values a sum of cells."""

    def __init__(self, cells: Cells, categorical: NDArray[np.int32], weight: Vector) -> None:
        sizes = {column: int(categorical[:, column].max()) + 1 for query in cells.queries for column in query}
        columns, first = [], {}
        total = 1  # 0 is the constant
        for column in sorted(sizes, key=lambda column: sizes[column]):
            if total + sizes[column] <= MOST_VALUES:
                columns.append(column)
                first[column] = total
                total += sizes[column]
        # a margin's number is query·total + value's; the intercept is a margin of the constant
        of = np.full((max(1, *map(len, cells.queries)), len(cells) + 2), -1)
        for q, query in enumerate(cells.queries):
            values, place = cells.values(q), np.flatnonzero(cells.query_of == q) + 1
            for i, column in enumerate(query):
                if column in first:
                    of[i, place] = q * total + first[column] + values[:, i]
        of[0, 0] = 0
        numbers, numbered = np.unique(of, return_inverse=True)
        self._of = numbered.astype(np.int32)
        self._margins = len(numbers)  # the first is that of no margin
        used, self._value = np.unique(numbers[1:] % total, return_inverse=True)
        together = np.zeros((total, total))
        for i, a in enumerate(columns):
            of_a = first[a] + categorical[:, a].astype(np.int64)
            together[0] += np.bincount(of_a, weight, total)
            for b in columns[i:]:
                joined = categorical[:, a].astype(np.int64) * sizes[b] + categorical[:, b]
                table = np.bincount(joined, weight, sizes[a] * sizes[b]).reshape(sizes[a], sizes[b])
                together[first[a] : first[a] + sizes[a], first[b] : first[b] + sizes[b]] = table
        together[0, 0] = weight.sum()
        upper = np.triu(together)
        self._together = (upper + np.triu(upper, 1).T)[np.ix_(used, used)]

    def preconditioner(self, diagonal: Vector, penalty: Vector, weight: float) -> Callable[[Vector], Vector]:
        """Nearly v → (K'WK + Λ)⁻¹v, given its diagonal, λ, and the sum of w."""
        inverse = np.divide(1, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        shares = []
        for of in self._of:
            total = np.bincount(of, diagonal, self._margins)
            total[0] = np.inf
            shares.append(1 / np.where(total > 0, total, np.inf))
        held = np.maximum(self._total(penalty), 1e-6 * weight)
        stiffness = 1 / np.bincount(self._value, 1 / held)
        factor = cho_factor(self._together * (weight / self._together[0, 0]) + np.diag(stiffness))

        def apply(v: Vector) -> Vector:
            sums = self._total(v)
            mean = stiffness * np.bincount(self._value, sums / held)
            common = stiffness * cho_solve(factor, mean, check_finite=False)
            found = np.concatenate([[0], (sums - (mean - common)[self._value]) / held])
            rest = v.copy()
            for i in (*range(len(self._of)), *range(len(self._of) - 2, -1, -1)):
                _without(self._of[i], diagonal, shares[i], rest)
            rest *= inverse
            for of in self._of:
                _add(of, found, rest)
            return rest

        return apply

    def _total(self, values: Vector) -> Vector:
        """The sum of the cells' values (P + 2,) over each margin."""
        totals = np.zeros(self._margins)
        for of in self._of:
            _add_up(of, values, totals)
        return totals[1:]
