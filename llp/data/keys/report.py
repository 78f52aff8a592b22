"""Reports: the cells of overlapping queries, each a set of columns, so that a row is in one bag of each."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PositiveInt

from llp.data.bags import Bags, CellBags, Rows
from llp.data.cells import find_cells, queries_of
from llp.data.keys.base import Columns, GroupingKey
from llp.data.table import InstanceTable
from llp.errors import invalid

Listed = Annotated[
    tuple[Literal["singles", "pairs"] | Annotated[Columns, Field(min_length=1)], ...],
    Field(min_length=1),
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]


class ReportKey(GroupingKey):
    """Label sums over the cells of queries."""

    pattern = "report"
    words = "report"

    kind: Literal["report"] = "report"
    columns: Annotated[Columns, Field(min_length=1)]  # what the queries are of
    queries: Literal["singles", "pairs"] | Listed  # every column, those and every pair, or a list of columns or words
    least_count: PositiveInt  # cells of fewer train rows are not published

    def check(self) -> None:
        """Refuse queries of other columns, or twice the same."""
        queries_of(self.columns, self.columns, self.queries, "grouping_key.queries")

    def bags(self, table: InstanceTable, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> Bags:
        """The published cells, query after query."""
        categorical = table.categorical[rows]
        queries = queries_of(table.categorical_names, self.columns, self.queries)
        cells = find_cells(categorical, table.vocab_sizes, queries, self.least_count)
        ids = cells.of_rows(categorical).ravel()
        of_row = np.repeat(np.asarray(table.label[rows], np.float64), len(queries))
        size, label_sum = (np.bincount(ids, weights, len(cells) + 2)[1:-1] for weights in (None, of_row))
        offsets, number = np.append(0, np.cumsum(size)), np.arange(len(cells))
        return CellBags(
            offsets, label_sum.astype(np.float64), number, None, cells, held=rows, categorical=table.categorical
        )

    def shares_of_queries(self, table: InstanceTable, shares: Mapping[str, float] | None) -> NDArray[np.float64] | None:
        """Those of the queries (Q,), in their order; they are given by the queries' columns side by side."""
        if shares is None:
            return None
        names = table.categorical_names
        queries = queries_of(names, self.columns, self.queries)
        named = ["_".join(names[column] for column in query) for query in queries]
        if {*shares} != {*named}:
            example = dict.fromkeys(named, round(1 / len(named), 3))
            raise invalid("noise.shares", dict(shares), f"a share of each query, {', '.join(named)}", example)
        return np.array([shares[name] for name in named])

    def most_bags_of_a_row(self, table: InstanceTable) -> int:
        """One of each query."""
        return len(queries_of(self.columns, self.columns, self.queries))
