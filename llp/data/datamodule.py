"""LLPDataModule: minibatches of whole bags for training, rows or held-out bags for evaluation, whatever the workers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import lightning as L
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from llp.data.bag_order import BagOrder, in_table
from llp.data.bags import Bags, CellBags, Ids, Rows, make_bags
from llp.data.given_bags import outside
from llp.data.keys import FoldBags, GroupingKey
from llp.data.label_unit import AS_GIVEN, LabelUnit
from llp.data.minibatches import EpochLoader, Minibatches
from llp.data.noise import Noise
from llp.data.on_device import Chunks, ResidentBags, ResidentInstances, ResidentTable, table_on
from llp.data.overlap import split_bags
from llp.data.read_ahead import HAS_ADVICE, ReadAhead
from llp.data.table import InstanceTable
from llp.data.train_split import Features, Labelled, TrainSplit
from llp.errors import InputError, invalid

EVALUATION_ROWS = 4096  # instances of an evaluation batch: large enough to be quick, small enough for any memory
EVALUATION_ROWS_ON_GPU = 2**18
PER_CHUNK = 8  # minibatches of one step of Lightning: few enough that a signal is answered within seconds
PER_CHUNK_ON_GPU = 64


def _as_it_is(batch: Any) -> Any:
    return batch


@dataclass(frozen=True)
class HeldOut:
    """What the epoch is selected on, and how often."""

    protocol: Literal["paper", "holdout"]  # test rows, or a share of the train bags set aside
    share: float  # that share; 0 under paper
    evaluate_every: float  # epochs between two evaluations
    test_in_curve: bool = False  # each evaluation has the test metric, although it picks nothing


@dataclass(frozen=True)
class Batching:
    """How minibatches are made."""

    bags: int  # in a training minibatch
    instances: int  # in one of a method that sees instance labels
    instance_labels: bool  # the method sees them; else it gets bags only
    seed: int  # of the run on its fold
    num_workers: int  # processes that gather minibatches; the batches do not depend on it


class LLPDataModule(L.LightningDataModule):
    """Bags of one fold as minibatches.

    `noise` is in the train sums; `unit_of` gives from the train bags the unit in which training sees real labels; with
    a `bag_order` minibatches are gathered from its copy of the table.
    """

    def __init__(
        self,
        table: InstanceTable,
        key: GroupingKey,
        fold_bags: FoldBags,
        held_out: HeldOut,
        batching: Batching,
        *,
        noise: Noise | None = None,
        unit_of: Callable[[Bags], LabelUnit] | None = None,
        bag_order: BagOrder | None = None,
    ) -> None:
        super().__init__()
        self.table = table
        # what minibatches are gathered from: the rows of all bags, and `test_rows`, are its rows
        self.source = table if bag_order is None else bag_order.table
        fold_bags = fold_bags if bag_order is None else bag_order.fold_bags
        self._bag_order = bag_order
        self.key = key
        self.noise = noise
        self.protocol = held_out.protocol
        self.batching = batching
        self.test_in_curve = held_out.test_in_curve and len(fold_bags.test_rows) > 0
        self.test_rows = fold_bags.test_rows
        train = fold_bags.train
        in_rows = train if bag_order is None or train.number is None else in_table(train, bag_order.order)
        self.bags_overlap = in_rows.overlap  # a row is in several train bags
        # each cell of a report shares rows with cells of each query; of a sample's report none can be held out either
        whole = isinstance(train, CellBags) and held_out.share == 0
        report = train.cells is not None and (self.bags_overlap or train.counts is not None or whole)
        cells = train
        if report and batching.instance_labels:  # every row is a bag of its own
            rows = np.unique(train.rows)
            train = in_rows = make_bags(rows, np.arange(len(rows) + 1), self.source.label)
            self.bags_overlap = False
        kept, held = split_bags(in_rows, 0.0 if report and train is cells else held_out.share, batching.seed)
        self.train_bags, self.held_out_bags = train.select(kept), train.select(held)
        # not trained on, as they share rows with bags that are held out or measure the run
        self.n_left_out_bags = fold_bags.n_left_out + len(train) - len(kept) - len(held)
        binary = table.label_kind == "binary"
        sizes = train.sizes if train.counts is None else train.counts.astype(np.int64)
        self.sums_outside = int(outside(train.label_sum, sizes).sum()) if binary else 0
        if not len(self.train_bags):
            expected = f"a smaller share, or smaller bags, as none of the {len(fold_bags.train)} train bags is left"
            raise invalid("protocol.held_out", held_out.share, expected, *([0.1] if held_out.share > 0.1 else []))
        # what measures the run where no row has a label: the fold's test bags, else those held out of the train bags
        self.held_out_bags_measure = not report and not len(self.test_rows) and fold_bags.test_bags is None
        measuring = (cells if report else self.held_out_bags).of_their_rows()
        of_bags = measuring if fold_bags.test_bags is None else fold_bags.test_bags
        self.test_bags = None if len(self.test_rows) else of_bags
        if not (np.isfinite(fold_bags.train.label_sum).all() and np.isfinite(self.source.label[self.test_rows]).all()):
            raise InputError(f"The table {table.folder} holds a label that is not a finite number: prepare it again")
        self.unit = AS_GIVEN if unit_of is None else unit_of(self.train_bags)
        self.ids_per_batch = batching.instances if batching.instance_labels else batching.bags
        n_ids = len(self.train_bags.rows) if batching.instance_labels else len(self.train_bags)
        self._train_minibatches = Minibatches(
            n_ids, self.ids_per_batch, seed=batching.seed, evaluate_every=held_out.evaluate_every
        )
        self._pin = False
        self._resident: ResidentTable | None = None

    @property
    def holds_out(self) -> bool:
        """Whether bags are set aside for the choice of the epoch."""
        return len(self.held_out_bags) > 0

    @property
    def n_train_instances(self) -> int:
        """Rows that are in a train bag, each once."""
        return len(self.train_bags.instances) if self.bags_overlap else int(self.train_bags.offsets[-1])

    def pin(self) -> None:
        """Gather minibatches into memory from which a GPU copies while it computes."""
        self._pin = True

    def keep_on(self, device: torch.device) -> None:
        """Put the table on a device, gather all minibatches there, and train on chunks of them."""
        self._resident = table_on(self.source, device)

    @property
    def in_chunks(self) -> bool:
        """Whether a step of Lightning trains on a chunk of minibatches: where the table is kept on a device."""
        return self._resident is not None

    def _dataset(self, what: Rows | Bags, unit: LabelUnit = AS_GIVEN) -> Any:
        """What makes minibatches of ids, gathered where the table is kept: on a device, or on the disk."""
        there = self._resident or table_on(self.source, torch.device("cpu"))
        return ResidentBags(there, what) if isinstance(what, Bags) else ResidentInstances(there, what, unit)

    def stop_after(self, steps: int) -> None:
        """End the training after a number of minibatches."""
        self._train_minibatches.stop_after(steps)

    def train_dataloader(self) -> EpochLoader | Chunks:
        """Shuffled minibatches of bags; of labelled instances for a method that sees them."""
        ids = self._read_ahead(self._train_minibatches, self.train_bags)
        if self.batching.instance_labels:
            dataset = self._dataset(self.train_bags.rows, self.unit)
        else:
            dataset = self._dataset(self.unit.of_bags(self.train_bags))
        if self._resident is not None:
            return Chunks(dataset, ids, PER_CHUNK_ON_GPU if self._on_gpu else PER_CHUNK)
        return EpochLoader(self._loader(dataset, ids))

    @property
    def train_split(self) -> TrainSplit:
        """What the method may know of the whole train split."""
        order = self._bag_order
        bags = self.train_bags if order is None else in_table(self.train_bags, order.order)
        bags = self.unit.of_bags(bags)
        features, labelled = Features.of(self.table), self._labelled()
        return TrainSplit(features, bags, self.key, self.minibatches_per_epoch, self.unit, labelled)

    def _labelled(self) -> Labelled | None:
        """The rows of own files whose labels are known beside a report."""
        schema = self.table.schema
        if not schema.aggregates_only:
            return None
        label = np.asarray(self.table.label[: schema.rows - schema.test_rows], np.float64)
        rows = np.flatnonzero(np.isfinite(label))
        return Labelled(rows, (label[rows] - self.unit.mean) / self.unit.scale) if len(rows) else None

    @property
    def minibatches_per_epoch(self) -> int:
        """Training minibatches of an epoch."""
        return self._train_minibatches.per_epoch

    @property
    def minibatches_per_evaluation(self) -> int:
        """Training minibatches between two evaluations: an epoch to Lightning."""
        return len(self._train_minibatches)

    @property
    def instances_per_evaluation(self) -> float:
        """Train instances between two evaluations."""
        return self.minibatches_per_evaluation / self.minibatches_per_epoch * int(self.train_bags.offsets[-1])

    def val_dataloader(self) -> DataLoader[Any]:
        """What the epoch is selected on: test rows, or what is held out of the train bags."""
        if self.protocol == "paper":
            return self.test_dataloader()
        if self.batching.instance_labels:
            return self._in_order(self.held_out_bags.rows, len(self.held_out_bags.rows), EVALUATION_ROWS)
        return self.bag_dataloader(self.held_out_bags)

    def bag_dataloader(self, bags: Bags) -> DataLoader[Any]:
        """Minibatches of bags in their order."""
        return self._in_order(bags, len(bags), self.batching.bags)

    def test_dataloader(self) -> DataLoader[Any]:
        """The test rows with their labels."""
        batch_size = EVALUATION_ROWS_ON_GPU if self._on_gpu else EVALUATION_ROWS
        return self._in_order(self.test_rows, len(self.test_rows), batch_size)

    @property
    def _on_gpu(self) -> bool:
        return self._resident is not None and self._resident.label.is_cuda

    def _in_order(self, what: Rows | Bags, n: int, batch_size: int) -> DataLoader[Any]:
        return self._loader(self._dataset(what), self._read_ahead(Minibatches(n, batch_size, seed=None), what))

    def _read_ahead(self, minibatches: Minibatches, what: Rows | Bags) -> Sampler[Ids]:
        """Minibatches; of a copy in the order of bags, they are read ahead."""
        if self._bag_order is None or not HAS_ADVICE:
            return minibatches
        return ReadAhead(minibatches, self.source, what)

    def _loader(self, dataset: Dataset[Any], ids: Sampler[Ids]) -> DataLoader[Any]:
        return DataLoader(
            dataset,
            batch_size=None,
            sampler=ids,
            num_workers=0 if self.in_chunks else self.batching.num_workers,
            collate_fn=_as_it_is,
            pin_memory=self._pin,
            generator=torch.Generator(),  # for its workers' seeds: it would draw from the generator of the models
        )
