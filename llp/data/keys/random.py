"""Random bags: runs of permuted rows."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt

from llp.data.bags import Rows
from llp.data.keys.base import SizedKey


class RandomKey(SizedKey):
    """Runs of permuted rows."""

    pattern = "random_{bag_size}"
    words = "random bags"

    kind: Literal["random"] = "random"
    seed: NonNegativeInt

    def group(self, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """Runs of the permutation."""
        return self.cut(rng.permutation(rows))
