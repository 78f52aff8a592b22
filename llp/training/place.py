"""Where a stage is computed: the device, and whether the table lives in its memory."""

import torch

from llp.config.schema import Hardware
from llp.data.datamodule import LLPDataModule
from llp.data.on_device import fits_on
from llp.data.table import InstanceTable
from llp.machine import free_memory
from llp.methods.base import LLPMethod
from llp.training.chunks import own_hooks


def device_of(hardware: Hardware) -> torch.device:
    """The device to compute on."""
    found = None if hardware.accelerator == "cpu" else torch.accelerator.current_accelerator(check_available=True)
    return torch.device("cpu") if found is None else torch.device(found.type, 0)


def keeps_on(device: torch.device, hardware: Hardware, data: LLPDataModule, method: LLPMethod) -> bool:
    """Whether minibatches are gathered where the training is, in chunks."""
    if hardware.features_on != "auto":
        return hardware.features_on == "device"
    on_cpu = device.type == "cpu" and data.num_workers == 0  # whoever asks for workers wants them to gather
    on_gpu = device.type == "cuda" and fits_on(data.source, device)
    return (on_cpu or on_gpu) and not own_hooks(type(method))


def in_bag_order(hardware: Hardware, table: InstanceTable, *, instance_labels: bool) -> bool:
    """Whether minibatches are gathered from a copy of the table in the bags' order.

    A method that sees instance labels is trained on single rows in random order, for which no copy has runs.
    """
    if instance_labels or hardware.row_order != "auto":
        return not instance_labels and hardware.row_order == "bag"
    device = device_of(hardware)
    if device.type == "cuda" and hardware.features_on != "host" and fits_on(table, device):
        return False  # read once, from its first row to its last
    return table.categorical.nbytes + table.numeric.nbytes > free_memory()
