"""Noisy sums made consistent: those nearest to them that keep what sums over cells of the same rows must.

Queries of the same rows repeat each other: with S the columns that two of them share, their cells with a value of S sum
to the same, if all of these cells are published. The sums that keep every such equation and are nearest by Σⱼ (cⱼ −
c̃ⱼ)²/vⱼ average the noise out (M. Hay et al., "Boosting the accuracy of differentially private histograms through
consistency", VLDB 2010). Without it a fit follows contradictions that no labels can have.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import lsqr

from llp.data.cells import Cells, Query
from llp.reports.passes import Passes, Vector

EXACT = 1e-4
"""Variance of an exact sum among noisy ones, relative to the least of theirs."""
UNMET = 0.005
"""Of both sides' counts together: a difference that may be noise in the counts."""


def consistency(
    passes: Passes, cells: Cells, categorical: NDArray[np.int32], variance: Vector, counts: Vector | None = None
) -> Callable[[Vector], Vector]:
    """The map to consistent sums (P + 2,) of variances `variance`, not all 0, for one report of n rows.

    It gives those nearest to some (P + 2,); the intercept's is that of the cells. With the P `counts` of cells that
    the rows are a sample of, an equation that these do not meet is none.
    """
    deviation = np.zeros(len(cells) + 2)
    deviation[1:-1] = np.sqrt(np.maximum(variance[1:-1], EXACT * variance[variance > 0].min()))
    met = equations(passes.cells, cells, categorical)
    if counts is not None:
        padded = np.concatenate([[0], counts, [0]])
        met = met[np.flatnonzero(np.abs(met @ padded) <= UNMET * (abs(met) @ np.abs(padded)))]
    scaled = met @ diags_array(deviation)
    held = np.unique(scaled.indices)  # of the cells, those that an equation holds: often few
    scaled, deviation, of_cells = scaled[:, held], deviation[held], total(passes, cells)

    def consistent(sums: Vector) -> Vector:
        found = sums.copy()
        if scaled.shape[0]:  # some follow from others: the shortest change that meets them all
            off = scaled @ (sums[held] / deviation)
            found[held] -= deviation * lsqr(scaled, off, atol=1e-12, btol=1e-12, iter_lim=10_000)[0]
        found[0] = of_cells @ found
        return found

    return consistent


def total(passes: Passes, cells: Cells) -> Vector:
    """Weights (P + 2,) of the cells' sums that give that of all rows: a whole query's, else of the pooled mean."""
    whole = [q for q in range(len(cells.queries)) if passes.cells[:, q].max(initial=0) <= len(cells)]
    weights = np.zeros(len(cells) + 2)
    if whole:
        weights[1:-1] = cells.query_of == min(whole, key=lambda q: int((cells.query_of == q).sum()))
    else:
        weights[1:-1] = len(passes.cells) / passes.sums(np.ones(len(passes.cells)))[1:-1].sum()
    return weights


def equations(ids: NDArray[np.int32], cells: Cells, categorical: NDArray[np.int32]) -> csr_array:
    """What sums over the cells `ids` (n, Q) of the rows keep: (M, P + 2), 1 and −1 for each Σ c − Σ c = 0."""
    columns = [{*query} for query in cells.queries]
    shared = {tuple(sorted(a & b)) for a, b in combinations_with_replacement(columns, 2)}
    found = [_of_shared(common, ids, cells, categorical) for common in sorted(shared)]
    return vstack(found).tocsr()


def _of_shared(common: Query, ids: NDArray[np.int32], cells: Cells, categorical: NDArray[np.int32]) -> csr_array:
    """The equations of the queries that have some columns: a row for each value of these, and each query but one."""
    queries = [q for q, query in enumerate(cells.queries) if {*common} <= {*query}]
    if len(queries) == 1:
        return csr_array((0, len(cells) + 2))
    widths = [int(categorical[:, column].max(initial=0)) + 1 for column in common]
    of_row = _joined(categorical[:, [*common]], widths)
    of_cells = [_joined(cells.values(q)[:, [cells.queries[q].index(one) for one in common]], widths) for q in queries]
    known = np.unique(np.concatenate(of_cells))
    shape = (len(known), len(cells) + 2)
    first, has_first, rows = csr_array(shape), np.zeros(len(known), bool), [csr_array((0, shape[1]))]
    for q, of_cell in zip(queries, of_cells, strict=True):
        lacking = np.isin(known, of_row[ids[:, q] > len(cells)])  # a row with this value is in no published cell
        place = np.searchsorted(known, of_cell)
        complete = ~lacking & (np.bincount(place, minlength=len(known)) > 0)
        sums = csr_array((np.ones(len(place)), (place, np.flatnonzero(cells.query_of == q) + 1)), shape=shape)
        rows.append((sums - first)[np.flatnonzero(complete & has_first)])
        first = first + diags_array((complete & ~has_first).astype(float)) @ sums
        has_first |= complete
    return vstack(rows).tocsr()


def _joined(values: NDArray[np.integer], widths: list[int]) -> NDArray[np.int64]:
    """(n,) one number for each row of values (n, columns)."""
    return values.astype(np.int64) @ np.cumprod([1, *widths[:0:-1]])[: len(widths)][::-1]
