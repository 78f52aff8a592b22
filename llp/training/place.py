"""Where a stage is computed: the device, whether the table lives in its memory, and how a step is taken there."""

import torch

from llp.config.schema import Hardware
from llp.data.datamodule import LLPDataModule
from llp.data.on_device import fits_on
from llp.data.table import InstanceTable
from llp.machine import free_memory
from llp.methods.base import LLPMethod
from llp.training.chunks import ChunkTraining, PlainStep, Step, own_hooks


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


def without_effect(device: torch.device, hardware: Hardware, method: LLPMethod, *, resident: bool) -> list[str]:
    """Options that change nothing in this combination, a line each."""
    lines = []
    if hardware.row_order == "bag" and method.sees_instance_labels:
        lines.append(f"hardware.row_order=bag has no effect: {type(method).__name__} is trained on single instances")
    if not hardware.cuda_graphs:
        return lines
    reasons = {
        "the run is not on a CUDA device": device.type != "cuda",
        "the features are on the host": not resident,
        f"the steps of {type(method).__name__} have no static shape": not method.static_shape,
    }
    reason = next((reason for reason, holds in reasons.items() if holds), None)
    return [*lines, f"hardware.cuda_graphs=true has no effect: {reason}"] if reason else lines


def chunk_training(data: LLPDataModule, device: torch.device, n_steps: int, *, graphs: bool) -> ChunkTraining:
    """Keep the data on the device; says how its minibatches are trained on."""
    gatherer = data.keep_on(device)

    def make_step(method: LLPMethod, optimizer: torch.optim.Optimizer) -> Step:
        plain = PlainStep(method, optimizer, gatherer)
        if device.type != "cuda" or not graphs or not method.static_shape:
            return plain
        from llp.training.cuda_graphs import CapturedStep

        return CapturedStep(plain, n_ids=data.ids_per_batch, n_steps=n_steps)

    return ChunkTraining(make_step)
