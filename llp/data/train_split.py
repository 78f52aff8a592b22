"""TrainSplit: what a method may know of the whole train split, no instance label but those of `Labelled`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llp.data.bags import Bags
from llp.data.keys import GroupingKey
from llp.data.label_unit import AS_GIVEN, LabelUnit
from llp.data.table import InstanceTable


class Standardised(NamedTuple):
    """A numeric column of (x − mean)/std."""

    position: int
    mean: float
    std: float


@dataclass(frozen=True)
class Features:
    """The features of a table's N rows, memory-mapped, without their labels."""

    categorical: NDArray[np.int32]  # (N, Fc), codes from 0 within each column
    numeric: NDArray[np.float32]  # (N, Fn)
    categorical_names: list[str]  # in order
    vocab_sizes: list[int]  # of the categorical columns, in order
    standardised: Mapping[str, Standardised] = field(default_factory=dict)  # numeric columns, by name

    @classmethod
    def of(cls, table: InstanceTable) -> "Features":
        """Those of a table."""
        columns = [(i, one.name, table.schema.encodings.get(one.name)) for i, one in enumerate(table.schema.numeric)]
        standardised = {
            name: Standardised(i, made["mean"], made["std"])
            for i, name, made in columns
            if made is not None and made["kind"] == "standardised"
        }
        return cls(table.categorical, table.numeric, table.categorical_names, table.vocab_sizes, standardised)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return len(self.categorical)

    @property
    def n_numeric(self) -> int:
        """Number of numeric columns, Fn."""
        return int(self.numeric.shape[1])


@dataclass(frozen=True)
class Labelled:
    """Train rows whose labels are known: the one exception to "no label reaches a method"."""

    rows: NDArray[np.int64]  # (L,) of the table, each once, rising
    labels: NDArray[np.float64]  # (L,) real ones in the split's `unit`


@dataclass(frozen=True)
class TrainSplit:
    """The bags that a method is trained on, as it is handed over once before training.

    Attributes
    ----------
    features : Features
        Of the whole table; `bags.rows` says which rows are of this split.
    bags : Bags
        The train bags: rows, sizes and label sums, of real labels in `unit`.
    key : GroupingKey
        How the bags are made.
    minibatches : int
        Training minibatches of an epoch.
    unit : LabelUnit
        In which training sees real labels; of binary ones as they are.
    labelled : Labelled or None
        Rows with known labels, for methods that take them.
    """

    features: Features
    bags: Bags
    key: GroupingKey
    minibatches: int
    unit: LabelUnit = AS_GIVEN
    labelled: Labelled | None = None

    @property
    def label_mean(self) -> float:
        """Pooled label mean p of the train bags, in `unit`."""
        return self.bags.label_mean
