"""Model selection: what picks the epoch."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback

from llp.config.schema import ProtocolConfig, SelectBy
from llp.data.datamodule import LLPDataModule
from llp.errors import InputError, invalid
from llp.files import write_atomically
from llp.methods.base import LLPMethod
from llp.metrics.evaluation import MAIN
from llp.metrics.held_out import LEAST_BAGS
from llp.training.curve import Row
from llp.training.resume import VERSIONS, read_checkpoint

ENOUGH_BAGS = 20
"""Held-out bags from which on an estimate of the instances' loss picks by itself; no comparison had fewer."""


def selects_by(protocol: ProtocolConfig, data: LLPDataModule) -> SelectBy:
    """The criterion that selects the epoch.

    `auto`: with `ENOUGH_BAGS` held out that neither overlap nor are cut from sorted rows, the estimate whose picks lost
    least (docs/suite.md), of labels 0 and 1; else the bags' loss.
    """
    if protocol.select_by != "auto":
        return protocol.select_by
    apart = not data.key.cut_from_sorted and not data.bags_overlap
    drawn = len(data.held_out_bags) >= ENOUGH_BAGS and apart
    return "upm" if data.table.label_kind == "binary" and drawn else "bag_loss"


@dataclass(frozen=True)
class Monitor:
    """The value that picks the epoch: its logged name and whether larger ('max') or smaller ('min') is better."""

    name: str
    mode: str

    @property
    def held_out(self) -> bool:
        """Whether it is of what is held out of the train rows."""
        return self.name.startswith("held_out")

    def better(self, value: float, than: float) -> bool:
        """Whether `value` beats `than`; NaN never does, and anything beats NaN."""
        if math.isnan(than):
            return not math.isnan(value)
        return value > than if self.mode == "max" else value < than


def monitor_of(protocol: ProtocolConfig, method: LLPMethod, data: LLPDataModule) -> Monitor:
    """The test metric, or an estimate on what is held out; of methods that see instance labels their loss there.

    Raises
    ------
    InputError
        Too few bags are held out.
    """
    found, select_by = len(data.held_out_bags), selects_by(protocol, data)
    if protocol.name == "holdout" and not found and method.trains:
        paper = ", or protocol=paper, as test rows have labels" if len(data.test_rows) else ""
        raise InputError(
            "Invalid protocol=holdout: the cells of a report share rows, so none can be held out; expected "
            f"method=cell_glm, which needs none{paper}"
        )
    if select_by == "test":
        name, mode = MAIN[method.label_kind]
        return Monitor(f"test_{name}", mode)
    if select_by == "bag_loss" or method.sees_instance_labels:
        return Monitor("held_out_loss", "min")
    if found < LEAST_BAGS:
        expected = f"bag_loss, as an estimate needs {LEAST_BAGS} held-out bags and there are {found}"
        raise invalid("protocol.select_by", protocol.select_by, expected, "bag_loss")
    return Monitor(f"held_out_{select_by}", "min")


class BestWeights(Callback):
    """Keeps the weights at the best epoch in memory, and in resume checkpoints."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.value = float("nan")
        self.epoch = -1
        self.weights: dict[str, torch.Tensor] = {}

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Copy the weights if this epoch is the best so far; FloatingPointError if none is finite."""
        value = float(trainer.callback_metrics[self.monitor.name])
        if self.monitor.held_out and not math.isfinite(value):
            raise FloatingPointError(f"{self.monitor.name}, which picks the epoch, is {value}")
        if self.epoch < 0 or self.monitor.better(value, self.value):
            self.value, self.epoch = value, trainer.current_epoch
            assert isinstance(pl_module, LLPMethod)
            for name, weight in pl_module.model.state_dict().items():
                if name not in self.weights:
                    self.weights[name] = torch.empty_like(weight)
                self.weights[name].copy_(weight)  # in place: two copies of a large first layer would be held for a time

    def state_dict(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {"value": self.value, "epoch": self.epoch, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of a checkpoint."""
        self.value, self.epoch, self.weights = state_dict["value"], state_dict["epoch"], state_dict["weights"]


@dataclass(frozen=True)
class ChosenEpoch:
    """The chosen epoch, and the training that led to it."""

    rows: list[Row]  # the epochs' curve
    epoch: int  # the chosen one, -1 where nothing is trained
    steps: int  # up to its end
    held_out: float | None  # the estimate that picked it; None where the test metric did, or nothing is trained
    early_stopped: bool  # whether the curve, and not the epoch limit, ended the search
    untrained: float | None  # test metric before the first step; None where the protocol touches those rows only once
    measures: dict[str, float] | None  # every one of the model at that epoch; None where only a refit is measured
    sums: torch.Tensor | None  # (4, K) of the bags that measure it (`predict_bags`); None where test rows do
    weights: dict[str, torch.Tensor]  # of the model at that epoch

    def write(self, path: Path) -> None:
        """Write it, so that a run that is cut off later does not search again."""
        content = {"versions": VERSIONS, "chosen": asdict(self)}
        write_atomically(path, lambda temporary: torch.save(content, temporary))

    @classmethod
    def read(cls, path: Path, model: torch.nn.Module) -> Self | None:
        """The choice of an earlier attempt; None where there is no such file, or one that does not fit the model."""
        names = set(cls.__dataclass_fields__)

        def problem(content: dict[str, Any]) -> str | None:
            chosen = content.get("chosen")
            fits = isinstance(chosen, dict) and chosen.keys() == names and chosen["weights"].keys() == expected.keys()
            return None if fits else "of another model"

        expected = model.state_dict()
        content = read_checkpoint(path, problem)
        return None if content is None else cls(**content["chosen"])
