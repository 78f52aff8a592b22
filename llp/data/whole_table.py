"""The bags of a whole table, without folds: what an analysis looks at."""

import numpy as np

from llp.data.bags import Bags, GroupingKey, Rows, group_rows, kept_rows, key_codes, make_bags, positions_of
from llp.data.table import InstanceTable


def build_all(table: InstanceTable, key: GroupingKey) -> Bags:
    """The bags that a grouping key makes of all rows.

    Feature bags: those within the size thresholds. Random and fixed-size bags: all rows in an order that is the
    key's seed's alone, cut into runs of `bag_size`; the last, smaller run stays a bag.
    """
    if key.kind == "feature":
        rows, codes = kept_rows(table, key)
        return make_bags(*group_rows(codes, rows), table.label)
    rng = np.random.default_rng(key.seed or 0)
    ordered = rng.permutation(table.n_rows) if key.kind == "random" else _shuffled_groups(table, key, rng)
    begins = np.arange(0, table.n_rows, key.bag_size or 1)
    return make_bags(ordered, np.append(begins, table.n_rows), table.label)


def _shuffled_groups(table: InstanceTable, key: GroupingKey, rng: np.random.Generator) -> Rows:
    """All rows, those that agree on the key's columns contiguous, groups in random order."""
    rows, offsets = group_rows(key_codes(table, key.columns), np.arange(table.n_rows))
    groups = rng.permutation(len(offsets) - 1)
    return rows[positions_of(offsets[groups], np.diff(offsets)[groups])]
