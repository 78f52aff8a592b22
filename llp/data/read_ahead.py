"""Reading ahead of minibatches whose rows lie in runs on the disk: the kernel reads while a step computes."""

import mmap
import os
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from llp.data.bags import Bags, Ids, Rows
from llp.data.minibatches import Minibatches
from llp.data.table import InstanceTable

MINIBATCHES = 16
"""How many are read ahead: enough to keep a disk busy, few enough to stay in the page cache until they are used."""
HAS_ADVICE = hasattr(os, "posix_fadvise")  # Linux


class ReadAhead(Sampler[Ids]):
    """Minibatches, the next ones asked for ahead; rows of a bag, or of a minibatch of instances, follow each other."""

    def __init__(self, minibatches: Minibatches, table: InstanceTable, what: Bags | Rows) -> None:
        self._minibatches = minibatches
        self._what = what
        self._arrays: list[NDArray[Any]] = [table.categorical, table.numeric]
        if not isinstance(what, Bags):
            self._arrays.append(table.label)

    def set_epoch(self, epoch: int) -> None:
        """See `Minibatches`."""
        self._minibatches.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self._minibatches)

    def __iter__(self) -> Iterator[Ids]:
        waiting: deque[Ids] = deque()
        with ExitStack() as files:
            arrays = [array for array in self._arrays if isinstance(array, np.memmap) and array.nbytes]
            opened = [(array, files.enter_context(open(str(array.filename), "rb")).fileno()) for array in arrays]
            for ids in self._minibatches:
                for start, size in runs(self._what, ids):
                    for array, descriptor in opened:
                        width = array.strides[0]
                        begin = array.offset + start * width
                        os.posix_fadvise(descriptor, begin, size * width, os.POSIX_FADV_WILLNEED)
                waiting.append(ids)
                if len(waiting) > MINIBATCHES:
                    yield waiting.popleft()
            yield from waiting


def runs(what: Bags | Rows, ids: Ids) -> list[tuple[int, int]]:
    """First row and length of each run of rows that a minibatch is made of."""
    if isinstance(what, Bags):
        starts, sizes = what.rows[what.offsets[ids]], what.offsets[ids + 1] - what.offsets[ids]
        return list(zip(starts.tolist(), sizes.tolist(), strict=True))
    return [(int(what[ids[0]]), len(ids))]


def expect_runs(table: InstanceTable) -> None:
    """Keep the kernel from reading megabytes around each row of a table: `ReadAhead` asks for what is needed."""
    if not HAS_ADVICE:
        return
    for array in (table.categorical, table.numeric, table.label):
        mapped: Any = array.base
        if isinstance(mapped, mmap.mmap):
            mapped.madvise(mmap.MADV_RANDOM)
