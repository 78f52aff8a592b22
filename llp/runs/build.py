"""The objects that a config names: table, model, method, data module."""

import logging
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llp.config.commands import TrainConfig
from llp.config.options import HYDRAS
from llp.config.own_code import check_constructed
from llp.config.schema import DatasetConfig, Hardware
from llp.config.targets import check_target
from llp.data.build_bags import FoldBags, build_fold, check_labels, measured_by_bags
from llp.data.noise import check_sensitivity, noise_of, with_noise
from llp.data.prior import prior_of
from llp.data.table import InstanceTable
from llp.datasets.preparation import prepare_table
from llp.errors import InputError, invalid, out_of_memory

if TYPE_CHECKING:  # torch and Lightning take seconds to import; a finished run is skipped without them
    from torch import nn

    from llp.data.bag_order import BagOrder
    from llp.data.datamodule import LLPDataModule
    from llp.methods.base import LLPMethod

log = logging.getLogger(__name__)


def open_table(dataset: DatasetConfig, data_dir: Path) -> InstanceTable:
    """The dataset's table, prepared first if it is an embedded one.

    Raises
    ------
    InputError
        It is not prepared, or not what the dataset's YAML file says.
    """
    table = InstanceTable.open(prepare_table(dataset, data_dir))
    if table.label_kind != dataset.label_kind:
        raise InputError(
            f"dataset {dataset.name} says label_kind: {dataset.label_kind}, its table {table.folder} "
            f"holds {table.label_kind} labels: write label_kind: {table.label_kind} in its YAML file"
        )
    unknown = [name for name in dataset.key_columns if name not in table.categorical_names]
    if unknown:
        raise InputError(
            f"dataset {dataset.name} names the key column {', '.join(unknown)}, which its table {table.folder} "
            f"lacks; write key_columns, of {', '.join(table.categorical_names)}, in its YAML file"
        )
    return table


def _instantiate(group: str, node: dict[str, Any], **given: Any) -> Any:
    """Check a node's options and call its target with them; a partial one's first parameter comes later."""
    target = check_target(group, node, tuple(given))
    named = {name: value for name, value in node.items() if name not in HYDRAS}
    return partial(target, **named) if node.get("_partial_") else target(**named, **given)


def build_model(config: TrainConfig, table: InstanceTable) -> "nn.Module":
    """The config's model for a table's columns, initialised from the run's seed."""
    import torch

    from llp.models.label_start import add_label_start
    from llp.seeding import keyed_seed

    torch.manual_seed(keyed_seed(config.seed, "initial weights"))
    given = {"vocab_sizes": table.vocab_sizes, "n_numeric": table.n_numeric}
    model: nn.Module = _instantiate("model", config.model.node, **given)
    check_constructed(model, "_parameters")
    if config.protocol.start == "labels":
        add_label_start(model)
    return model


def build_method(config: TrainConfig, table: InstanceTable) -> "LLPMethod":
    """The config's method with its model and optimizer."""
    method: LLPMethod = _instantiate(
        "method",
        config.method.node,
        model=build_model(config, table),
        optimizer=_instantiate("optimizer", config.optimizer.node),
        label_kind=table.label_kind,
        seed=config.seed,
    )
    check_constructed(method, "steps_taken")
    return method


def check_build(config: TrainConfig, table: InstanceTable) -> None:
    """Build model, method and optimizer for one code per column, so that a wrong option is told before any work.

    Raises
    ------
    InputError
        An option is wrong, or the method cannot go with the model, the machine or training on chunks.
    """
    import torch

    from llp.training.chunks import own_hooks

    if config.hardware.accelerator == "gpu" and not torch.accelerator.is_available():
        raise invalid("hardware.accelerator", "gpu", "auto or cpu, as torch finds no GPU on this machine", "auto")
    columns = tuple(replace(column, vocab_size=column.vocab_size and 1) for column in table.schema.columns)
    small = InstanceTable(table.folder, replace(table.schema, columns=columns))
    method = build_method(config, small)
    key = config.grouping_key
    check_labels(table, key)
    if config.protocol.name == "paper" and measured_by_bags(table, key):
        raise InputError(
            f"Invalid protocol=paper: it picks the epoch on labelled test rows, {config.dataset.name} has none here, "
            "expected protocol=holdout"
        )
    if table.schema.aggregates_only and method.sees_instance_labels:
        raise InputError(
            f"Invalid method={config.method.name}: it trains on labelled instances, {config.dataset.name} has labels "
            "of bags alone; expected a method that learns from bags, such as method=dllp_bce"
        )
    if config.noise is not None:
        noise = noise_of(config.noise, table, key)
        assert noise is not None
        check_sensitivity(table, noise)
        if method.sees_instance_labels:
            raise InputError(
                f"Invalid method={config.method.name}: it trains on labelled instances, and noise="
                f"{config.noise.mechanism} is on the sums of bags; expected a method that learns from bags, such as "
                "method=dllp_bce"
            )
    own = own_hooks(type(method))
    if own and config.hardware.features_on == "device":
        raise invalid(
            "hardware.features_on",
            "device",
            f"auto or host, as {type(method).__name__} has its own {', '.join(own)}: Lightning calls that for a "
            "minibatch, not for a chunk of them",
            "host",
        )
    try:
        optimizer = method.configure_optimizers()
    except InputError:
        raise
    except ValueError as error:  # how torch's optimizers refuse a value
        raise InputError(f"optimizer: {error}") from error
    check_constructed(optimizer, "param_groups")
    if config.method.first_stage is not None:
        method.start_from(build_model(config, small))


def check_input(config: TrainConfig, table: InstanceTable) -> None:
    """Refuse wrong input while a run has no folder; whatever else fails will do so again, and be recorded there.

    Raises
    ------
    InputError
        See `check_build` and `llp.data.prior.prior_of`.
    """
    try:
        check_build(config, table)
        if config.grouping_key.kind == "prior":
            prior_of(table, config.grouping_key)
    except (InputError, OSError):
        raise
    except Exception as error:
        if short := out_of_memory(error):
            raise short from error
        log.debug("building failed: %s", error)


def build_data(
    config: TrainConfig,
    table: InstanceTable,
    *,
    instance_labels: bool,
    labels_as_given: bool = False,
    all_bags: bool = False,
) -> "LLPDataModule":
    """The data module of the config's grouping key, fold and protocol; with `all_bags` nothing is held out."""
    from llp.data.datamodule import LLPDataModule
    from llp.data.label_unit import LabelUnit

    key = config.grouping_key
    fold_bags = build_fold(table, key, config.fold)
    if config.noise is not None and (noise := noise_of(config.noise, table, key)):
        fold_bags = replace(fold_bags, train=with_noise(fold_bags.train, noise, config.fold))
    standardises = table.label_kind == "real" and config.protocol.start == "labels" and not labels_as_given
    most = math.inf if config.noise is None else config.noise.sensitivity / 2  # what labels of that range can have
    name = f"{key.name}_fold={config.fold}"
    bag_order = _bag_order(config.hardware, table, fold_bags, name, instance_labels=instance_labels)
    return LLPDataModule(
        table=table,
        key=key,
        fold_bags=fold_bags if bag_order is None else bag_order.fold_bags,
        bag_order=bag_order,
        protocol=config.protocol.name,
        held_out=0.0 if all_bags else config.protocol.held_out,
        bags_per_batch=config.trainer.bags_per_batch,
        instances_per_batch=config.trainer.instances_per_batch,
        evaluate_every=config.trainer.evaluate_every,
        test_in_curve=bool(config.protocol.test_in_curve),
        instance_labels=instance_labels,
        seed=config.seed,
        num_workers=config.num_workers,
        unit_of=partial(LabelUnit.of, most=most) if standardises else None,
    )


def _bag_order(
    hardware: Hardware, table: InstanceTable, fold_bags: FoldBags, name: str, *, instance_labels: bool
) -> "BagOrder | None":
    """The copy of the table in the bags' order, where minibatches are to be read from one."""
    from llp.data.bag_order import BagOrder
    from llp.training.place import in_bag_order

    if not in_bag_order(hardware, table, instance_labels=instance_labels):
        return None
    try:
        return BagOrder.of(table, fold_bags, name)
    except (InputError, OSError) as error:
        if hardware.row_order == "bag":
            raise
        log.warning("the table exceeds the free memory and is read slowly: %s", error)
        return None
