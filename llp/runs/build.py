"""The parts of a run, as its config names them: table, model, method, data module."""

import logging
import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from llp.config.commands import TrainConfig
from llp.config.own_code import check_constructed, placed_errors
from llp.config.schema import DatasetConfig
from llp.config.targets import check_preparation, check_targets, instantiate
from llp.data.keys import FoldBags
from llp.data.noise import check_sensitivity, noise_of, with_flips, with_noise
from llp.data.table import InstanceTable
from llp.datasets.preparation import prepare_table
from llp.errors import InputError, invalid, out_of_memory
from llp.runs.identity import Run
from llp.runs.load import CHOSEN, FINAL, load_weights
from llp.runs.tracking import check_installed

if TYPE_CHECKING:  # torch and Lightning take seconds to import; a finished run is skipped without them
    from torch import nn

    from llp.data.bag_order import BagOrder
    from llp.data.datamodule import LLPDataModule
    from llp.methods.base import LLPMethod

log = logging.getLogger(__name__)


def open_table(dataset: DatasetConfig, data_dir: Path) -> InstanceTable:
    """The dataset's table, prepared first if it is embedded; InputError where it is not what its YAML file says."""
    table = InstanceTable.of(prepare_table(dataset, data_dir))
    unknown = [name for name in dataset.key_columns if name not in table.categorical_names]
    if unknown or table.label_kind != dataset.label_kind:
        table.check_files()  # a damaged one is not mended in the dataset's YAML file
    if table.label_kind != dataset.label_kind:
        raise InputError(
            f"dataset {dataset.name} says label_kind: {dataset.label_kind}, its table {table.folder} "
            f"holds {table.label_kind} labels: write label_kind: {table.label_kind} in its YAML file"
        )
    if unknown:
        raise InputError(
            f"dataset {dataset.name} names the key column {', '.join(unknown)}, which its table {table.folder} "
            f"lacks; write key_columns, of {', '.join(table.categorical_names)}, in its YAML file"
        )
    return table


@dataclass(frozen=True)
class Parts:
    """Builds the parts of a run, of its checked config and its dataset's table."""

    config: TrainConfig
    table: InstanceTable

    @classmethod
    def of(cls, config: TrainConfig) -> Self:
        """The parts of a config's run; see `open_table`. The options are checked first where preparing takes time."""
        with placed_errors(config.targets, debug=config.debug):
            if not (config.data_dir / config.dataset.table).exists():
                check_preparation(config.dataset)
                check_targets(config)
            return cls(config, open_table(config.dataset, config.data_dir))

    @property
    def run(self) -> Run:
        """Its identity and folder."""
        return Run.of(self.config.identity, self.table, self.config.outputs_dir)

    def first_stage(self) -> "Parts | None":
        """The parts of the run that the method starts from; None where it starts from none."""
        first = self.config.first_stage()
        return None if first is None else Parts(first, self.table)

    def model(self) -> "nn.Module":
        """The model for the table's columns, with the run's initial weights."""
        import torch

        from llp.models.label_start import add_label_start
        from llp.seeding import keyed_seed

        torch.manual_seed(keyed_seed(self.config.draw_seed, "initial weights"))
        given = {"vocab_sizes": self.table.vocab_sizes, "n_numeric": self.table.n_numeric}
        model: nn.Module = instantiate("model", self.config.model.node, **given)
        check_constructed(model, "_parameters")
        if self.config.protocol.start == "labels":
            add_label_start(model)
        return model

    def method(self) -> "LLPMethod":
        """The method with its model and optimizer."""
        method: LLPMethod = instantiate(
            "method",
            self.config.method.node,
            model=self.model(),
            optimizer=instantiate("optimizer", self.config.optimizer.node),
            label_kind=self.table.label_kind,
            seed=self.config.draw_seed,
        )
        check_constructed(method, "steps_taken")
        return method

    def data(
        self,
        *,
        instance_labels: bool,
        labels_as_given: bool = False,
        all_bags: bool = False,
        solves: bool = False,
        teacher: "LLPMethod | None" = None,
    ) -> "LLPDataModule":
        """The data of its key, fold and protocol; with `all_bags` nothing held out; a `teacher` labels train rows."""
        from llp.data.datamodule import Batching, HeldOut, LLPDataModule
        from llp.data.label_unit import LabelUnit
        from llp.methods.distilled import with_soft_labels
        from llp.seeding import keyed_seed

        config, table, key = self.config, self.table, self.config.grouping_key
        fold_bags = key.fold_bags(table, config.fold, config.repeat)
        noise = noise_of(config.noise, table, key, fold_bags.train)
        if config.noise is not None and noise is not None:
            if config.repeat is not None:
                noise = replace(noise, seed=keyed_seed(noise.seed, "noise of a repeat", config.repeat))
            if noise.flips:
                table, train = with_flips(table, fold_bags.train, noise, config.fold)
            else:
                train = with_noise(fold_bags.train, noise, config.fold, key.shares_of_queries(table, noise.shares))
            fold_bags = replace(fold_bags, train=train)
        if teacher is not None:  # which has learnt from these sums; the scores' start is of them too
            rows = np.unique(fold_bags.train.rows)
            table = with_soft_labels(table, rows, teacher)
        standardises = table.label_kind == "real" and config.protocol.start == "labels" and not labels_as_given
        most = math.inf if config.noise is None else config.noise.sensitivity / 2  # what labels of that range can have
        unit_of = partial(LabelUnit.of, most=most) if standardises else None
        bag_order = self._bag_order(fold_bags, instance_labels=instance_labels)
        protocol, trainer = config.protocol, config.trainer
        # who solves has nothing to choose, but held-out bags may measure it: never those of a report, which share rows
        measured = key.measured_by_bags(table) and fold_bags.train.cells is None
        share = 0.0 if all_bags or (solves and not measured) else protocol.held_out
        held_out = HeldOut(protocol.name, share, trainer.evaluate_every, bool(protocol.test_in_curve))
        batching = Batching(
            trainer.bags_per_batch, trainer.instances_per_batch, instance_labels, config.draw_seed, config.num_workers
        )
        return LLPDataModule(
            table, key, fold_bags, held_out, batching, noise=noise, unit_of=unit_of, bag_order=bag_order
        )

    def _bag_order(self, fold_bags: FoldBags, *, instance_labels: bool) -> "BagOrder | None":
        """The copy of the table in the bags' order, where minibatches are to be read from one."""
        from llp.data.bag_order import BagOrder
        from llp.training.place import in_bag_order

        if not in_bag_order(self.config.hardware, self.table, instance_labels=instance_labels):
            return None
        try:
            return BagOrder.of(self.table, fold_bags, f"{self.config.grouping_key.name}_fold={self.config.fold}")
        except (InputError, OSError) as error:
            if self.config.hardware.row_order == "bag":
                raise
            log.warning("the table exceeds the free memory and is read slowly: %s", error)
            return None

    def start(self, *, refit: bool) -> tuple["LLPMethod", "LLPDataModule"]:
        """The method, from its first stage's finished run, and its data; with `refit` nothing is held out."""
        from llp.training.place import put_data

        method = self.method()
        earlier = self.first_stage()
        teacher = None
        if earlier is not None:
            trained = earlier.method()
            # its final weights have seen the bags that are held out here, where it was trained again
            of_chosen = not refit and earlier.run.weights_path.with_name(CHOSEN).is_file()
            load_weights(trained.model, earlier.run.folder, CHOSEN if of_chosen else FINAL)
            if self.config.method.first_model is not None:
                teacher = trained.eval()
            else:
                method.start_from(trained.model)
        data = self.data(
            instance_labels=method.sees_instance_labels,
            labels_as_given=method.labels_as_given,
            all_bags=refit,
            solves=method.solves,
            teacher=teacher,
        )
        if data.train_bags.counts is not None and not method.solves:
            raise InputError(
                f"Invalid method={self.config.method.name}: the sums are of more rows than the sample that is here "
                "(rows=unknown); expected method=cell_glm, or method=distilled, which learns from it"
            )
        put_data(data, self.config.hardware, method)
        method.take_train_split(data.train_split)
        method.take_start(data.train_split)
        return method, data

    def check(self) -> None:
        """Refuse wrong input while a run has no folder; all is built for one code per column, before any work."""
        import torch

        self.table.check_files()
        if self.config.hardware.accelerator == "gpu" and not torch.accelerator.is_available():
            raise invalid("hardware.accelerator", "gpu", "auto or cpu, as torch finds no GPU on this machine", "auto")
        check_installed(self.config.logger)
        check_targets(self.config)
        columns = tuple(replace(column, vocab_size=column.vocab_size and 1) for column in self.table.schema.columns)
        small = replace(self, table=InstanceTable(self.table.folder, replace(self.table.schema, columns=columns)))
        try:
            method = small.method()
            self._check_data(method)
            small._check_steps(method)
        except (InputError, OSError):
            raise
        except Exception as error:
            if short := out_of_memory(error):
                raise short from error
            log.debug("building failed: %s", error)

    def _check_data(self, method: "LLPMethod") -> None:
        """Refuse bags that the protocol or the method cannot be measured by, or learn from."""
        config, table = self.config, self.table
        config.grouping_key.check_table(table)
        method.check_columns(table.categorical_names)
        if (config.model.name == "cell_weights") != (config.method.name == "cell_glm"):
            only = "method=cell_glm has its own, model=cell_weights, which no other method has"
            raise InputError(f"Invalid model={config.model.name}: {only}")
        fits = method.trains and table.label_kind == "binary" and config.protocol.start == "labels"
        if config.method.recalibrate and not fits:
            expected = "false where nothing is trained, of real labels and with protocol.start=authors"
            raise invalid("method.recalibrate", True, expected, False)
        if config.protocol.name == "paper" and config.grouping_key.measured_by_bags(table):
            raise InputError(
                f"Invalid protocol=paper: it picks the epoch on labelled test rows, {config.dataset.name} has none "
                "here, expected protocol=holdout"
            )
        of_bags = f"{config.dataset.name} has labels of bags alone" if table.schema.aggregates_only else ""
        if config.noise is not None and (noise := noise_of(config.noise, table, config.grouping_key)):
            check_sensitivity(table, noise)
            config.grouping_key.shares_of_queries(table, noise.shares)
            of_bags = of_bags or ("" if noise.flips else f"noise={noise.mechanism} is on the sums of bags")
        if of_bags and method.sees_instance_labels and not method.own_labels:
            raise InputError(
                f"Invalid method={config.method.name}: it trains on labelled instances, and {of_bags}; expected a "
                "method that learns from bags, such as method=dllp_bce"
            )

    def _check_steps(self, method: "LLPMethod") -> None:
        """Refuse a method that cannot be trained on chunks, by this optimizer, or from this first stage."""
        from llp.training.place import own_hooks

        own = own_hooks(type(method))
        if own and self.config.hardware.features_on == "device":
            why = f"{type(method).__name__} has its own {', '.join(own)}: Lightning calls that for a minibatch"
            raise invalid("hardware.features_on", "device", f"auto or host, as {why}, not for a chunk of them", "host")
        try:
            optimizer = method.configure_optimizers()
        except ValueError as error:  # how torch's optimizers refuse a value
            raise error if isinstance(error, InputError) else InputError(f"optimizer: {error}") from error
        check_constructed(optimizer, "param_groups")
        earlier = self.first_stage()
        if earlier is None:
            return
        if self.config.method.first_model is None:
            method.start_from(earlier.model())
        elif not ((first := earlier.method()).trains or first.solves):
            expected = f"a method with a model that can label rows, as {type(first).__name__} trains none"
            raise invalid("method.first_stage", earlier.config.method.name, expected)
