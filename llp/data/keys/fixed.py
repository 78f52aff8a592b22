"""Fixed-size feature bags: runs of rows sorted by the key's columns."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt

from llp.data.bags import Rows, group_rows, key_codes, positions_of
from llp.data.keys.base import Columns, SizedKey
from llp.data.table import InstanceTable


class FixedKey(SizedKey):
    """Runs of rows of which those that agree on the columns are contiguous, groups in random order."""

    pattern = "fixed_{columns}_{bag_size}"
    words = "fixed-size feature bags"
    cut_from_sorted = True

    kind: Literal["fixed"] = "fixed"
    columns: Columns
    seed: NonNegativeInt

    def values(self, table: InstanceTable) -> NDArray[np.uint64]:
        """The values in the key's columns, as one number."""
        return key_codes(table, self.columns)

    def group(self, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """Runs of the groups."""
        grouped, offsets = group_rows(values, rows)
        groups = rng.permutation(len(offsets) - 1)
        return self.cut(grouped[positions_of(offsets[groups], np.diff(offsets)[groups])])
