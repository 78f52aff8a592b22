"""The place where a stage is computed: which device, whether its memory holds the table and training goes by chunks."""

import logging

import lightning as L
import torch

from llp.config.schema import Hardware
from llp.data.datamodule import LLPDataModule
from llp.data.on_device import fits_on
from llp.data.table import InstanceTable
from llp.machine import free_memory
from llp.methods.base import LLPMethod

log = logging.getLogger(__name__)

ONCE_AN_EPOCH = {
    *("setup", "prepare_data", "configure_model", "configure_callbacks", "teardown", "forward"),
    *("on_fit_start", "on_fit_end", "on_train_start", "on_train_end", "on_train_epoch_start", "on_train_epoch_end"),
    *("validation_step", "on_validation_start", "on_validation_end", "on_validation_batch_start"),
    *("on_validation_batch_end", "on_validation_epoch_start", "on_validation_epoch_end"),
    *("on_validation_model_eval", "on_validation_model_train", "on_save_checkpoint", "on_load_checkpoint"),
}
"""Hooks of Lightning that a method may override and still train on chunks: they are called as often either way."""


def own_hooks(method: type[LLPMethod]) -> list[str]:
    """Hooks of Lightning that a method overrides and that chunks do not call once a minibatch, or not at all."""
    lightning = [base for base in L.LightningModule.__mro__ if base.__module__.startswith("lightning.")]
    hooks = {name: value for base in lightning for name, value in vars(base).items() if not name.startswith("_")}
    return [
        name
        for name, value in hooks.items()
        if callable(value) and name not in ONCE_AN_EPOCH and getattr(method, name) is not getattr(LLPMethod, name)
    ]


def device_of(hardware: Hardware) -> torch.device:
    """The device to compute on."""
    found = None if hardware.accelerator == "cpu" else torch.accelerator.current_accelerator(check_available=True)
    return torch.device("cpu") if found is None else torch.device(found.type, 0)


def put_data(data: LLPDataModule, hardware: Hardware, method: LLPMethod) -> None:
    """Have minibatches gathered where the training is, in chunks, if that can be; else on the host."""
    if hardware.row_order == "bag" and method.sees_instance_labels:
        alone = f"{type(method).__name__} is trained on single instances"
        log.warning("hardware.row_order=bag has no effect: %s", alone)
    device = device_of(hardware)
    if keeps_on(device, hardware, data, method):
        data.keep_on(device)
    elif device.type == "cuda":
        data.pin()


def keeps_on(device: torch.device, hardware: Hardware, data: LLPDataModule, method: LLPMethod) -> bool:
    """Whether minibatches are gathered where the training is, in chunks, as Lightning's work a step takes long."""
    if hardware.features_on != "auto":
        return hardware.features_on == "device"
    if own_hooks(type(method)):
        return False
    on_cpu = device.type == "cpu" and data.batching.num_workers == 0  # whoever asks for workers wants them to gather
    on_gpu = device.type == "cuda" and fits_on(data.source, device)
    return on_cpu or on_gpu


def in_bag_order(hardware: Hardware, table: InstanceTable, *, instance_labels: bool) -> bool:
    """Whether minibatches are gathered from a copy in the bags' order; single rows would have no runs in one."""
    if instance_labels or hardware.row_order != "auto":
        return not instance_labels and hardware.row_order == "bag"
    device = device_of(hardware)
    if device.type == "cuda" and hardware.features_on != "host" and fits_on(table, device):
        return False  # read once, from its first row to its last
    return table.categorical.nbytes + table.numeric.nbytes > free_memory()
