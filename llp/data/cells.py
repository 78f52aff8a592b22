"""Cells of a report: the groups of rows that agree on the columns of a query.

A query is a set of categorical columns; its cells are the combinations of their values, and a row is in one of each
query. Cells of few rows are not published.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from llp.errors import InputError, invalid

Query = tuple[int, ...]
"""Positions of its columns among the categorical ones, rising."""


@dataclass(frozen=True)
class Cells:
    """The P published cells of Q queries, query after query, by value within each.

    A row x is in the cell of code base + radix·x of each query; no two cells of all have one code.
    """

    queries: tuple[Query, ...]  # the columns of each
    radix: NDArray[np.int64]  # (Q, Fc)
    base: NDArray[np.int64]  # (Q,)
    code: NDArray[np.int64]  # (P,) of the published ones, rising
    query_of: NDArray[np.int64]  # (P,) the query of each

    def __len__(self) -> int:
        return len(self.code)

    def select(self, cells: NDArray[np.int64]) -> "Cells":
        """Only these of them, at rising positions."""
        return replace(self, code=self.code[cells], query_of=self.query_of[cells])

    def values(self, q: int) -> NDArray[np.int64]:
        """The values of a query's columns in its cells: (cells of the query, its columns)."""
        rest = self.code[self.query_of == q] - self.base[q]
        found = np.empty((len(rest), len(self.queries[q])), np.int64)
        for i, column in enumerate(self.queries[q]):
            found[:, i], rest = np.divmod(rest, self.radix[q, column])
        return found

    def of_rows(self, categorical: NDArray[np.int32]) -> NDArray[np.int32]:
        """(n, Q) int32: the cell, 1 … P, of each row (n, Fc) in each query; P + 1 where it is not published.

        In Fortran's order, a query after the other, in which passes over many cells are quick.
        """
        ids = np.empty((len(categorical), len(self.queries)), np.int32, order="F")
        for q, query in enumerate(self.queries):
            code = _codes(categorical, query, self.radix[q], np.int64(0))
            first, stop = np.searchsorted(self.query_of, [q, q + 1])
            own = self.code[first:stop] - self.base[q]
            if (most := int(code.max(initial=0)) + 1) <= 4 * len(code):  # a table is several times as quick as a search
                table = np.full(most, len(self) + 1, np.int32)
                table[own[own < most]] = np.arange(first + 1, first + 1 + (own < most).sum())
                ids[:, q] = table[code]
                continue
            place = np.searchsorted(own, code)
            published = (place < len(own)) & (np.append(own, -1)[place] == code)
            ids[:, q] = np.where(published, first + place + 1, len(self) + 1)
        return ids


def find_cells(
    categorical: NDArray[np.int32], vocab_sizes: Sequence[int], queries: Sequence[Query], least_count: int
) -> Cells:
    """The cells of the queries that at least `least_count` of the rows (n, Fc) are in; refuses queries without any."""
    radix, base = layout(vocab_sizes, queries)
    codes, query_of = [], []
    for q, query in enumerate(queries):
        code, count = np.unique(_codes(categorical, query, radix[q], base[q]), return_counts=True)
        codes.append(code[count >= least_count])
        query_of.append(np.full(len(codes[-1]), q))
    cells = Cells(tuple(queries), radix, base, np.concatenate(codes), np.concatenate(query_of))
    if not len(cells):
        raise InputError(f"no cell holds {least_count} rows: write a smaller least_count, or queries of fewer columns")
    return cells


def layout(vocab_sizes: Sequence[int], queries: Sequence[Query]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`radix` and `base` of `Cells`; refuses more combinations of values than integers of 63 bits."""
    radix = np.zeros((len(queries), len(vocab_sizes)), np.int64)
    base, total = [], 0
    for q, query in enumerate(queries):
        base.append(total)
        step = 1
        for column in reversed(query):
            radix[q, column] = min(step, 2**63 - 1)
            step *= vocab_sizes[column]
        total += step
    if total >= 2**63:
        raise InputError(f"the queries have {total:.1e} combinations of values, more than 2^63: use fewer columns each")
    return radix, np.array(base, np.int64)


def queries_of(
    names: Sequence[str], columns: Sequence[str], asked: str | Sequence[str | Sequence[str]], option: str = "queries"
) -> list[Query]:
    """The queries `singles` or `pairs` of columns, pairs with the singles before them, or a list of both.

    `names` are all categorical columns; `option` is where `asked` is given, for the error.
    """
    given = [asked] if isinstance(asked, str) else [one if isinstance(one, str) else list(one) for one in asked]
    known = sorted(names.index(name) for name in columns)
    queries: list[Query] = []
    for one in given:
        if isinstance(one, str):
            orders = range(1, 3 if one == "pairs" else 2)
            queries += [query for order in orders for query in combinations(known, order)]
        else:
            queries.append(tuple(sorted(names.index(name) for name in one if name in names)))
            if len(set(queries[-1])) < len(one) or not one:
                raise invalid(option, given, f"lists of different columns of {', '.join(names)}", [[names[0]]])
    if len(set(queries)) < len(queries):
        raise invalid(option, given, "each query once", given[:1])
    return queries


def _codes(categorical: NDArray[np.int32], query: Query, radix: NDArray[np.int64], base: np.int64) -> NDArray[np.int64]:
    code = np.full(len(categorical), base)
    for column in query:
        code += radix[column] * categorical[:, column]
    return code


def order_of(cells: Cells) -> NDArray[np.int64]:
    """(P,) the number of columns of each cell's query."""
    return np.array([len(query) for query in cells.queries])[cells.query_of]
