"""A table in a device's memory, or the CPU's map of it, and minibatches gathered there: a step takes bag ids alone."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from llp.data.bags import Bags, Ids, Rows
from llp.data.batch import BagBatch, InstanceBatch
from llp.data.label_unit import AS_GIVEN, LabelUnit
from llp.data.table import InstanceTable

ROOM = 2**32  # bytes that a model of a large vocabulary, its moments and a minibatch need beside the table


@dataclass(frozen=True, eq=False)
class ResidentTable:
    """A table's features and labels on a device."""

    categorical: Tensor  # (N, Fc) int32
    numeric: Tensor  # (N, Fn) float32
    label: Tensor  # (N,) float32


_held: "WeakValueDictionary[tuple[str, str], ResidentTable]" = WeakValueDictionary()


def _place(table: InstanceTable, device: torch.device) -> tuple[str, str]:
    return f"{table.folder} {table.fingerprint} {table.labels}", str(device)


def table_on(table: InstanceTable, device: torch.device) -> ResidentTable:
    """The table on a device; runs of one process share it while any of them is under way."""
    place = _place(table, device)
    resident = _held.get(place)
    if resident is None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            arrays = (torch.from_numpy(array) for array in (table.categorical, table.numeric, table.label))
            resident = ResidentTable(*(array.to(device) for array in arrays))
        _held[place] = resident
    return resident


def fits_on(table: InstanceTable, device: torch.device) -> bool:
    """Whether the table is on a CUDA device, or there is room for it beside a model."""
    if _place(table, device) in _held:
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return table.categorical.nbytes + table.numeric.nbytes + table.label.nbytes + ROOM <= free


class ResidentBags(Dataset[BagBatch]):
    """Bags whose minibatches are gathered on the device of a table."""

    def __init__(self, table: ResidentTable, bags: Bags) -> None:
        self.device = device = table.categorical.device
        self._table = table
        self._sizes = bags.sizes  # the host's: it knows a minibatch's size without asking the device
        self._rows = torch.from_numpy(bags.rows).to(device)
        self._start = torch.from_numpy(bags.offsets[:-1]).to(device)
        self._size = torch.from_numpy(bags.sizes).to(device)
        self._label_sum = torch.from_numpy(bags.label_sum.astype(np.float32)).to(device)

    def __getitem__(self, ids: Ids) -> BagBatch:
        return self.gather(ids, torch.from_numpy(ids).to(self.device))

    def gather(self, ids: Ids, there: Tensor) -> BagBatch:
        """Put the bags with ids (M,), which are `there` on the device, into a minibatch; the host waits for nothing."""
        size = self._size[there]
        end = torch.cumsum(size, 0)
        position = torch.arange(int(self._sizes[ids].sum()), device=self.device)
        segment = torch.searchsorted(end, position, right=True)
        rows = self._rows[position + (self._start[there] - (end - size))[segment]]
        return BagBatch(
            categorical=self._table.categorical.index_select(0, rows),
            numeric=self._table.numeric.index_select(0, rows),
            segment=segment,
            size=size,
            label_sum=self._label_sum[there],
        )


class ResidentInstances(Dataset[InstanceBatch]):
    """Labelled instances, rows (m,) of a table, whose minibatches are gathered on its device with labels in a unit."""

    def __init__(self, table: ResidentTable, rows: Rows, unit: LabelUnit = AS_GIVEN) -> None:
        self.device = table.categorical.device
        self._table = table
        self._unit = unit
        self._rows = torch.from_numpy(rows).to(self.device)

    def __getitem__(self, ids: Ids) -> InstanceBatch:
        return self.gather(ids, torch.from_numpy(ids).to(self.device))

    def gather(self, ids: Ids, there: Tensor) -> InstanceBatch:
        """Put the instances with ids (n,), which are `there` on the device, into a minibatch."""
        rows = self._rows[there]
        parts = (self._table.categorical, self._table.numeric, self._table.label)
        categorical, numeric, label = (part.index_select(0, rows) for part in parts)
        return InstanceBatch(categorical, numeric, self._unit.of_labels(label))


Gatherer = ResidentBags | ResidentInstances


class Chunk:
    """Minibatches of one step of Lightning, gathered one after another; one copy takes all ids to the device."""

    def __init__(self, gatherer: Gatherer, ids: list[Ids]) -> None:
        self._gatherer = gatherer
        self._ids = ids

    def __iter__(self) -> Iterator[BagBatch | InstanceBatch]:
        on_device = torch.from_numpy(np.concatenate(self._ids)).to(self._gatherer.device)
        lengths = [len(ids) for ids in self._ids]
        return map(self._gatherer.gather, self._ids, torch.split(on_device, lengths))


@dataclass(frozen=True, eq=False)
class Chunks:
    """The minibatches of an epoch in chunks of `per_chunk`; the last one may hold fewer."""

    gatherer: Gatherer
    sampler: Sampler[Ids]  # whose epoch Lightning sets
    per_chunk: int

    def __len__(self) -> int:
        return -(-len(self.sampler) // self.per_chunk)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Chunk]:
        minibatches = iter(self.sampler)
        while some := list(islice(minibatches, self.per_chunk)):
            yield Chunk(self.gatherer, some)
