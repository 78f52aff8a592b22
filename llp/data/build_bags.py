"""The bag dataset of a grouping key: its train bags and test rows in one fold, or its bags over the whole table.

Building one takes a fraction of a second per million rows, less than reading it back from a cold disk would, so it is
built where it is needed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llp.data.bags import Bags, GroupingKey, Rows, group_rows, key_codes, make_bags, positions_of
from llp.data.folds import fold_positions
from llp.data.given_bags import read_given_bags
from llp.data.overlap import overlap, sharing
from llp.data.prior import curated_runs, prior_of
from llp.data.table import InstanceTable
from llp.errors import InputError

MIN_ROWS = 10  # five folds of at least two rows
_WIDEN = "use another key, or widen grouping_key.low_thresh and grouping_key.high_thresh"


@dataclass(frozen=True)
class FoldBags:
    """The bags of one fold.

    Attributes
    ----------
    train : Bags
        They partition the train rows.
    test_rows : ndarray
        int64, rising: rows with labels that measure the run; empty where there is none.
    test_bags : Bags or None
        Bags that measure a run without labelled test rows; None where these, or held-out bags, do.
    n_left_out : int
        Given bags that are neither, as they share rows with `test_bags`.
    """

    train: Bags
    test_rows: Rows
    test_bags: Bags | None = None
    n_left_out: int = 0


def build_fold(table: InstanceTable, key: GroupingKey, fold: int) -> FoldBags:
    """Build the train bags and find the test rows of one (table, grouping key, fold).

    Feature bags: the size filter counts on the whole table, the folds split the rows that remain, and the train
    rows are grouped again (a train bag may then be smaller than `low_thresh`). Random, fixed-size and curated bags:
    the folds split all rows.

    Raises
    ------
    InputError
        The table has, or the size filter leaves, too few rows for five folds; or it has a given test split and the
        fold is not 0.
    """
    if key.kind == "given":
        return _given_fold(table, key, fold)
    check_labels(table, key)
    if table.schema.test_rows:
        return _given_split(table, key, fold)
    if key.kind == "feature":
        rows, codes = kept_rows(table, key)
        if len(rows) < MIN_ROWS:
            raise InputError(
                f"Invalid grouping_key={key.name}: it leaves {len(rows)} rows in bags of {key.low_thresh} to "
                f"{key.high_thresh} instances, expected at least {MIN_ROWS}; {_WIDEN}"
            )
        # bags must not reach over the folds, so the train rows are grouped anew: part of a bag is in the test rows
        train, test = fold_positions(len(rows), fold)
        return FoldBags(make_bags(*group_rows(codes[train], rows[train]), table.label), rows[test])
    if table.n_rows < MIN_ROWS:
        raise InputError(f"{table.folder} has {table.n_rows} rows, five folds need at least {MIN_ROWS}")
    train, test = fold_positions(table.n_rows, fold)
    return FoldBags(_runs(table, key, train, np.random.default_rng([key.seed or 0, fold])), test)


def given_bags(table: InstanceTable) -> Bags:
    """All of the user's own bags, in the order of `bags.parquet`.

    Raises
    ------
    InputError
        The table has none.
    """
    if not table.schema.given_bags:
        raise InputError(
            f"Invalid grouping_key=given: {table.folder.name} has no given bags; prepare it with bag_column=NAME, or "
            "write another key, such as grouping_key=random_256"
        )
    row, bag, label_sum = read_given_bags(table.folder)
    return Bags(*group_rows(bag.astype(np.uint64), row), label_sum, np.arange(len(label_sum)))


def check_labels(table: InstanceTable, key: GroupingKey) -> None:
    """Refuse other bags than the given ones of a table whose given bags alone have labels.

    Raises
    ------
    InputError
        They are other ones.
    """
    if table.schema.aggregates_only and key.kind != "given":
        raise InputError(
            f"Invalid grouping_key={key.name}: only the given bags of {table.folder.name} have labels, expected "
            "grouping_key=given"
        )


def measured_by_bags(table: InstanceTable, key: GroupingKey) -> bool:
    """Whether no row with a label is left to measure a run, so that bags do."""
    all_trained_on = table.schema.aggregates_only or key.n_folds == 1
    return key.kind == "given" and not table.schema.test_rows and all_trained_on


def _given_fold(table: InstanceTable, key: GroupingKey, fold: int) -> FoldBags:
    """The user's own bags of one fold: whole bags are train or test bags."""
    bags, n_test = given_bags(table), table.schema.test_rows
    if (n_test or key.n_folds == 1) and fold != 0:
        why = "has a given test split" if n_test else "is trained on as a whole (grouping_key.n_folds=1)"
        raise InputError(f"Invalid fold={fold}: {table.folder.name} {why}, expected fold=0")
    if n_test:
        return FoldBags(bags, np.arange(table.n_rows - n_test, table.n_rows))
    if key.n_folds == 1:
        return FoldBags(bags, np.empty(0, np.int64))
    if len(bags) < MIN_ROWS:
        raise InputError(
            f"{table.folder.name} has {len(bags)} bags, five folds of bags need at least {MIN_ROWS}; write "
            "grouping_key.n_folds=1 to train on all of them"
        )
    train_part, test_part = fold_positions(len(bags), fold)
    if table.schema.aggregates_only:
        apart = train_part
        if overlap(bags):
            apart = np.setdiff1d(train_part, sharing(bags)(test_part))
        if not len(apart):
            raise InputError(
                f"Invalid grouping_key.n_folds={key.n_folds}: every train bag of {table.folder.name} shares rows with "
                "a test bag, expected 1, which trains on all of them and measures on bags held out"
            )
        n_left_out = len(train_part) - len(apart)
        return FoldBags(bags.select(apart), np.empty(0, np.int64), bags.select(test_part), n_left_out)
    train, test = bags.select(train_part), bags.select(test_part)
    test_rows = np.setdiff1d(test.rows, train.rows)  # where bags overlap, a row may be in bags of both kinds
    if not len(test_rows):
        raise InputError(
            f"Invalid grouping_key.n_folds={key.n_folds}: every row in a test bag of {table.folder.name} is in a train "
            "bag too, expected 1, with protocol=holdout; or prepare it with test_files=, or with bags that overlap less"
        )
    return FoldBags(train, test_rows)


def _given_split(table: InstanceTable, key: GroupingKey, fold: int) -> FoldBags:
    """Bags of the train rows of a table with a given test split; all of its test rows."""
    if fold != 0:
        raise InputError(f"Invalid fold={fold}: {table.folder.name} has a given test split, expected fold=0")
    train, test = np.split(np.arange(table.n_rows), [table.n_rows - table.schema.test_rows])  # test rows are the last
    if key.kind == "feature":
        kept, codes = _within_thresholds(key_codes(table, key.columns)[train], train, key)
        if not len(kept):
            raise InputError(
                f"Invalid grouping_key={key.name}: it leaves no bag of {key.low_thresh} to {key.high_thresh} "
                f"instances, expected at least one; {_WIDEN}"
            )
        return FoldBags(make_bags(*group_rows(codes, kept), table.label), test)
    return FoldBags(_runs(table, key, train, np.random.default_rng([key.seed or 0, fold])), test)


def build_all(table: InstanceTable, key: GroupingKey) -> Bags:
    """Build the bags that a grouping key makes of the whole table, without folds: what an analysis looks at."""
    if key.kind == "given":
        return given_bags(table)
    if key.kind == "feature":
        rows, codes = kept_rows(table, key)
        return make_bags(*group_rows(codes, rows), table.label)
    return _runs(table, key, np.arange(table.n_rows), np.random.default_rng(key.seed or 0))


def kept_rows(table: InstanceTable, key: GroupingKey) -> tuple[Rows, NDArray[np.uint64]]:
    """Rows of feature bags whose size on the whole table is within the thresholds, rising, and their keys."""
    return _within_thresholds(key_codes(table, key.columns), np.arange(table.n_rows), key)


def _within_thresholds(codes: NDArray[np.uint64], rows: Rows, key: GroupingKey) -> tuple[Rows, NDArray[np.uint64]]:
    """Those of `rows` (m,), rising from 0, whose key's bag is within the thresholds; their keys (m,) likewise."""
    grouped, offsets = group_rows(codes, rows)
    sizes = np.diff(offsets)
    keep = (sizes >= (key.low_thresh or 0)) & (sizes <= (key.high_thresh or len(rows)))
    kept = np.sort(grouped[np.repeat(keep, sizes)])  # in row order again: the folds split positions in this list
    return kept, codes[kept]


def _runs(table: InstanceTable, key: GroupingKey, rows: Rows, rng: np.random.Generator) -> Bags:
    """Cut an order of the rows into runs of `bag_size`; the rest, a smaller run, stays a bag.

    In the order of fixed-size bags, rows that agree on the key's columns are contiguous, groups in random order; in
    that of curated bags the prior prediction rises.
    """
    if key.kind == "prior":
        order, offsets = curated_runs(prior_of(table, key)[rows], key.bag_size or 1, rng)
        return make_bags(rows[order], offsets, table.label)
    if key.kind == "random":
        ordered = rng.permutation(rows)
    else:
        grouped, offsets = group_rows(key_codes(table, key.columns)[rows], rows)
        groups = rng.permutation(len(offsets) - 1)
        ordered = grouped[positions_of(offsets[groups], np.diff(offsets)[groups])]
    # the last run may be short: the train bags partition the train rows for every kind of key
    begins = np.arange(0, len(rows), key.bag_size or 1)
    return make_bags(ordered, np.append(begins, len(rows)), table.label)
