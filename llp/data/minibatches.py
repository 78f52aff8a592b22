"""Minibatches gathered on the host, from the table's memory map, and the order in which they come."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from llp.data.bags import Bags, Ids, Rows, positions_of
from llp.data.batch import BagBatch, InstanceBatch
from llp.data.label_unit import AS_GIVEN, LabelUnit
from llp.data.table import InstanceTable
from llp.seeding import keyed_seed


def gather_features(table: InstanceTable, rows: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    """Categorical (n, Fc) int32 and numeric (n, Fn) float32 of the given rows."""
    categorical = np.empty((len(rows), len(table.vocab_sizes)), np.int32)
    # mode='clip' skips the buffering that makes np.take twice as slow; the rows are valid by construction
    np.take(table.categorical, rows, axis=0, out=categorical, mode="clip")
    numeric = np.take(table.numeric, rows, axis=0) if table.n_numeric else np.empty((len(rows), 0), np.float32)
    return torch.from_numpy(categorical), torch.from_numpy(numeric)


def gather_bags(table: InstanceTable, bags: Bags, ids: Ids) -> BagBatch:
    """Put the bags with the given ids, in that order, into one minibatch."""
    starts, sizes = bags.offsets[ids], bags.offsets[ids + 1] - bags.offsets[ids]
    categorical, numeric = gather_features(table, bags.rows[positions_of(starts, sizes)])
    return BagBatch(
        categorical=categorical,
        numeric=numeric,
        segment=torch.from_numpy(np.repeat(np.arange(len(ids)), sizes)),
        size=torch.from_numpy(sizes),
        label_sum=torch.from_numpy(bags.label_sum[ids].astype(np.float32)),
    )


def gather_instances(table: InstanceTable, rows: Rows, unit: LabelUnit = AS_GIVEN) -> InstanceBatch:
    """Put the rows with their labels, in a unit, into one minibatch."""
    categorical, numeric = gather_features(table, rows)
    return InstanceBatch(categorical, numeric, unit.of_labels(torch.from_numpy(np.take(table.label, rows))))


class BagDataset(Dataset[BagBatch]):
    """Maps the ids of a minibatch's bags to the minibatch."""

    def __init__(self, table: InstanceTable, bags: Bags) -> None:
        self._table = table
        self._bags = bags

    def __getitem__(self, ids: Ids) -> BagBatch:
        return gather_bags(self._table, self._bags, ids)


class InstanceDataset(Dataset[InstanceBatch]):
    """Maps positions in an array of rows to a minibatch of labelled instances."""

    def __init__(self, table: InstanceTable, rows: Rows, unit: LabelUnit = AS_GIVEN) -> None:
        self._table = table
        self._rows = rows
        self._unit = unit

    def __getitem__(self, positions: Ids) -> InstanceBatch:
        return gather_instances(self._table, self._rows[positions], self._unit)


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
