"""A minibatch of bags, and the order in which minibatches come."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler

from llp.data.bags import Bags, Ids
from llp.data.batch import BagBatch
from llp.data.on_device import ResidentBags, table_on
from llp.data.table import InstanceTable
from llp.seeding import keyed_seed


def gather_bags(table: InstanceTable, bags: Bags, ids: Ids) -> BagBatch:
    """Put the bags with the given ids, in that order, into one minibatch."""
    return ResidentBags(table_on(table, torch.device("cpu")), bags)[ids]


class Minibatches(Sampler[Ids]):
    """The ids of the minibatches up to the next evaluation, of epochs shuffled by (seed, epoch), if by any."""

    def __init__(self, n_items: int, batch_size: int, *, seed: int | None, evaluate_every: float = 1.0) -> None:
        self._n_items = n_items
        self._batch_size = batch_size
        self._seed = seed
        self._part = 0
        self.per_epoch = -(-n_items // batch_size)
        self._per_part = max(min(1, self.per_epoch), round(self.per_epoch * evaluate_every))
        self._last: int | None = None

    def set_epoch(self, epoch: int) -> None:
        """Choose whose minibatches come next, by the number of evaluations before; Lightning calls it."""
        self._part = epoch

    def stop_after(self, n: int) -> None:
        """End after n minibatches in all: there may then be fewer than the length says."""
        self._last = n

    def __iter__(self) -> Iterator[Ids]:
        order = None
        end = (self._part + 1) * self._per_part
        for position in range(self._part * self._per_part, end if self._last is None else min(end, self._last)):
            epoch, in_epoch = divmod(position, self.per_epoch)
            if order is None or not in_epoch:
                order = np.arange(self._n_items)
                if self._seed is not None:
                    order = np.random.default_rng(keyed_seed(self._seed, "bag order", epoch)).permutation(order)
            yield order[in_epoch * self._batch_size : (in_epoch + 1) * self._batch_size]

    def __len__(self) -> int:
        return self._per_part


class EpochLoader:
    """Begins an epoch with its first minibatch: Lightning takes a loader's iterator before it sets the epoch."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.sampler = loader.sampler  # whose epoch Lightning sets
        self._loader = loader

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        yield from self._loader
