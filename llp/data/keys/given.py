"""Given bags: the user's own. `llp.data.given_bags` keeps them with a table."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from llp.data import given_bags
from llp.data.bags import Bags, CellBags, group_rows
from llp.data.cells import Cells, layout
from llp.data.folds import fold_positions
from llp.data.keys.base import MIN_ROWS, FoldBags, GroupingKey
from llp.data.overlap import sharing
from llp.data.table import InstanceTable
from llp.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def _integer(value: Any) -> Any:
    """Refuse true and 5.0 where an integer is meant: they equal 1 and 5, and would be another run's identity."""
    if type(value) is not int:
        raise PydanticCustomError("form", "an integer")
    return value


class GivenKey(GroupingKey):
    """The user's own bags; with `n_folds` 1, every bag is trained on, as all cells of a report are."""

    pattern = "given"
    words = "given bags"
    refits = True

    kind: Literal["given"] = "given"
    n_folds: Annotated[Literal[1, 5], BeforeValidator(_integer)]

    def check_table(self, table: InstanceTable) -> None:
        """Refuse a table without given bags."""
        if not table.schema.given_bags:
            raise InputError(
                f"Invalid grouping_key=given: {table.folder.name} has no given bags; prepare it with bag_column=NAME, "
                "or write another key, such as grouping_key=random_256"
            )

    def all_bags(self, table: InstanceTable) -> Bags:
        """All of them, in the order of `bags.parquet`."""
        self.check_table(table)
        report = given_bags.read_report(table.folder)
        if report is not None:
            return _cells_of(table, report)
        row, bag, label_sum = given_bags.read_given_bags(table.folder)
        return Bags(*group_rows(bag.astype(np.uint64), row), label_sum, np.arange(len(label_sum)))

    def fold_bags(self, table: InstanceTable, fold: int, repeat: int | None = None) -> FoldBags:
        """Whole bags are train or test bags; those of the train part that share rows with a test bag are left out."""
        bags, n_test = self.all_bags(table), table.schema.test_rows
        whole = self.n_folds == 1 or bags.cells is not None
        if (n_test or whole) and fold != 0:
            why = "is trained on as a whole" + (" (grouping_key.n_folds=1)" if bags.cells is None else "")
            why = "has a given test split" if n_test else why
            raise InputError(f"Invalid fold={fold}: {table.folder.name} {why}, expected fold=0")
        if n_test:
            return FoldBags(bags, np.arange(table.n_rows - n_test, table.n_rows))
        if whole:
            return FoldBags(bags, np.empty(0, np.int64))
        if len(bags) < MIN_ROWS:
            raise InputError(
                f"{table.folder.name} has {len(bags)} bags, five folds of bags need at least {MIN_ROWS}; write "
                "grouping_key.n_folds=1 to train on all of them"
            )
        train_part, test_part = fold_positions(len(bags), fold, repeat)
        if table.schema.aggregates_only:
            apart = train_part
            if bags.overlap:
                apart = np.setdiff1d(train_part, sharing(bags)(test_part))
            if not len(apart):
                raise InputError(
                    f"Invalid grouping_key.n_folds={self.n_folds}: every train bag of {table.folder.name} shares rows "
                    "with a test bag, expected 1, which trains on all of them and measures on bags held out"
                )
            n_left_out = len(train_part) - len(apart)
            return FoldBags(bags.select(apart), np.empty(0, np.int64), bags.select(test_part), n_left_out)
        train, test = bags.select(train_part), bags.select(test_part)
        test_rows = np.setdiff1d(test.rows, train.rows)  # where bags overlap, a row may be in bags of both kinds
        if not len(test_rows):
            raise InputError(
                f"Invalid grouping_key.n_folds={self.n_folds}: every row in a test bag of {table.folder.name} is in a "
                "train bag too, expected 1, with protocol=holdout; or prepare it with test_files=, or with bags that "
                "overlap less"
            )
        return FoldBags(train, test_rows)

    def measured_by_bags(self, table: InstanceTable) -> bool:
        """Where no row has a label, or every bag is trained on and no test split is given."""
        return not table.schema.test_rows and (table.schema.aggregates_only or self.n_folds == 1)

    def most_bags_of_a_row(self, table: InstanceTable) -> int:
        """More than one where bags overlap."""
        self.check_table(table)
        return given_bags.most_bags_of_a_row(table.folder)


def _cells_of(table: InstanceTable, report: "pl.DataFrame") -> Bags:
    """The cells of a report of all rows but those of a test split and those that are given with their labels."""
    runs = report["query"].rle().struct  # of millions of cells, a few queries
    names, listed = table.categorical_names, [tuple(query) for query in runs.field("value")]
    place = {query: q for q, query in enumerate(dict.fromkeys(listed))}
    queries = tuple(tuple(sorted(names.index(column) for column in query)) for query in place)
    radix, base = layout(table.vocab_sizes, queries)
    query_of = np.repeat([place[query] for query in listed], runs.field("len").to_numpy())
    counts = report["count"].to_numpy() if "count" in report.columns else None
    return CellBags(
        np.concatenate([[0], np.cumsum(report["size"].to_numpy())]),
        report["label_sum"].to_numpy(),
        np.arange(len(report)),
        report["noise_variance"].to_numpy(),
        Cells(queries, radix, base, base[query_of] + report["code"].to_numpy(), query_of),
        counts,
        held=np.arange(table.n_rows - table.schema.test_rows - table.schema.facts.get("labelled_rows", 0)),
        categorical=table.categorical,
    )
