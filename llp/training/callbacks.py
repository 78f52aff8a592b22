"""What happens at the epochs of a training: the best weights, the curve, the order of the bags, an outside stop."""

import csv
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback

from llp import signals
from llp.data.datamodule import LLPDataModule
from llp.files import write_atomically
from llp.methods.base import LLPMethod
from llp.training.selection import Monitor

Row = dict[str, float]


class BestWeights(Callback):
    """Keeps a copy of the model's weights at the best epoch; part of a resume checkpoint."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.value = float("nan")
        self.epoch = -1
        self.weights: dict[str, torch.Tensor] = {}

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Copy the weights if this epoch is the best so far (the first one always is).

        Raises
        ------
        FloatingPointError
            What is held out says nothing finite of it.
        """
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


class Curve(Callback):
    """One row per epoch, in `metrics.csv` and handed on to whoever follows the run; part of a resume checkpoint.

    Parameters
    ----------
    path : Path
        The CSV file; written anew, as a whole, after each epoch.
    n_instances : float
        Train instances between two rows, for the instances per second.
    on_row : callable
        Called with each new row.
    """

    def __init__(self, path: Path, n_instances: float, on_row: Callable[[Row], None]) -> None:
        self.path = path
        self.rows: list[Row] = []
        self._n_instances = n_instances
        self._on_row = on_row
        self._begin = self._trained = 0.0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the clock."""
        self._begin = time.perf_counter()

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop the clock of the training part."""
        self._trained = time.perf_counter()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Add the epoch's row."""
        assert isinstance(pl_module, LLPMethod)
        measured = {name: float(value) for name, value in trainer.callback_metrics.items()}
        self.rows.append(
            {
                "epoch": trainer.current_epoch,
                **pl_module.epoch_means.values(),
                **measured,
                "epoch_seconds": time.perf_counter() - self._begin,
                "instances_per_second": self._n_instances / (self._trained - self._begin),
            }
        )
        write_csv(self.path, self.rows)
        self._on_row(self.rows[-1])

    def state_dict(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of a checkpoint; who follows this attempt gets the earlier epochs too."""
        self.rows = state_dict["rows"]
        for row in self.rows:
            self._on_row(row)


class Position(Callback):
    """Keeps data and method together with Lightning's loop: the epoch whose order is drawn, the steps that are counted.

    Parameters
    ----------
    data : LLPDataModule
        What is trained on.
    """

    def __init__(self, data: LLPDataModule) -> None:
        self._data = data

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Choose the epoch's order of the minibatches."""
        self._data.set_look(trainer.current_epoch)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Make sure that every step of the epoch was counted: the count keys the draws.

        Raises
        ------
        RuntimeError
            A method keeps `LLPMethod.on_train_batch_end` from being called, or drops its part of a checkpoint.
        """
        assert isinstance(pl_module, LLPMethod)
        expected = (trainer.current_epoch + 1) * self._data.minibatches_per_look
        if pl_module.steps_taken != expected:
            raise RuntimeError(
                f"{type(pl_module).__name__} has counted {pl_module.steps_taken} of {expected} steps: call super() in "
                "its on_train_batch_end, get_extra_state and set_extra_state"
            )


class Stop(Callback):
    """Stops a training on SIGINT and SIGTERM, between its steps: see `llp.signals.deferred`."""

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Look for it after each step."""
        signals.exit_if_received()

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Look for it after each batch."""
        signals.exit_if_received()


def write_csv(path: Path, rows: list[Row]) -> None:
    """Write rows with their union of columns, in order of appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)

    write_atomically(path, write)
