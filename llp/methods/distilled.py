"""A model trained on the soft labels of a finished `cell_glm`: the shape of a network, what a report's sums say.

The first stage's predictions stand in for labels, which are not read (G. Hinton et al., 2015). Cells know no order of
values and, under noise, have weights that jump from one to the next; a network smooths them.
"""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from llp.data.table import InstanceTable
from llp.methods.base import LLPMethod
from llp.methods.instance import InstanceMethod

_ROWS = 2**16
"""Scored at once."""


class Distilled(InstanceMethod):
    """`InstanceMethod` with the first stage's predictions as labels."""

    own_labels: ClassVar[bool] = True


@torch.inference_mode()
def with_soft_labels(table: InstanceTable, rows: NDArray[np.int64], teacher: LLPMethod) -> InstanceTable:
    """The table with a method's predictions as labels of some rows."""
    label = np.array(table.label)
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS]
        features = (torch.from_numpy(values[block]) for values in (table.categorical, table.numeric))
        label[block] = teacher.predict(teacher.score(*features)).numpy()
    return table.relabelled(label)
