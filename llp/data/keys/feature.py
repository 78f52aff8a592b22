"""Feature bags: instances that agree on the key's columns."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from llp.data.bags import Bags, Rows, group_rows, key_codes
from llp.data.cells import Cells, layout
from llp.data.keys.base import Columns, GroupingKey
from llp.data.table import InstanceTable
from llp.errors import InputError, invalid


class FeatureKey(GroupingKey):
    """Instances that agree on the columns form a bag; those of a size beyond the limits are dropped."""

    pattern = "{columns}"
    words = "feature bags"
    refits = True

    kind: Literal["feature"] = "feature"
    columns: Columns
    low_thresh: PositiveInt
    high_thresh: PositiveInt

    def check(self) -> None:
        """Refuse limits that keep no bag."""
        check_thresholds("grouping_key.", self.low_thresh, self.high_thresh)

    def values(self, table: InstanceTable) -> NDArray[np.uint64]:
        """The values in the key's columns, as one number."""
        return key_codes(table, self.columns)

    def kept(self, values: NDArray[Any], least: int) -> Rows:
        """Rows in bags of a size within the limits."""
        rows, offsets = group_rows(values, np.arange(len(values)))
        sizes = np.diff(offsets)
        keep = (sizes >= self.low_thresh) & (sizes <= self.high_thresh)
        is_kept = np.zeros(len(values), np.bool_)
        is_kept[rows[np.repeat(keep, sizes)]] = True
        kept = np.flatnonzero(is_kept)  # in row order again: the folds split positions in this list
        if len(kept) < least:
            raise InputError(
                f"Invalid grouping_key={self.name}: it leaves {len(kept)} rows in bags of {self.low_thresh} to "
                f"{self.high_thresh} instances, expected at least {least}; use another key, or widen "
                "grouping_key.low_thresh and grouping_key.high_thresh"
            )
        return kept

    def group(self, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """A bag for each value."""
        return group_rows(values, rows)

    def bags(self, table: InstanceTable, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> Bags:
        """The bags, which are the cells of one query."""
        bags = super().bags(table, rows, values, rng)
        query = tuple(table.categorical_names.index(name) for name in self.columns)
        radix, base = layout(table.vocab_sizes, [query])
        first = table.categorical[bags.rows[bags.offsets[:-1]]]  # a row of each
        return replace(bags, cells=Cells((query,), radix, base, first @ radix[0], np.zeros(len(bags), np.int64)))


def check_thresholds(prefix: str, low: int, high: int) -> None:
    """Refuse limits of the bag size that keep no bag; `prefix` is the options' group."""
    if low > high:
        example = f"{prefix}low_thresh=50 {prefix}high_thresh=2500"
        raise invalid(f"{prefix}high_thresh", high, f"an integer >= {prefix}low_thresh, which is {low}", example)
