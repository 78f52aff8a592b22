"""The curve of a training: one row per epoch."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L
import polars as pl
from lightning.pytorch.callbacks import Callback

from llp.data.datamodule import LLPDataModule
from llp.files import write_atomically
from llp.methods.base import LLPMethod

Row = dict[str, float]


class Curve(Callback):
    """One row per epoch, in `metrics.csv`, written whole, and handed on to whoever follows; in resume checkpoints."""

    def __init__(self, path: Path, on_row: Callable[[Row], None]) -> None:
        self.path = path
        self.rows: list[Row] = []
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
        data: LLPDataModule = trainer.datamodule  # type: ignore[attr-defined]
        measured = {name: float(value) for name, value in trainer.callback_metrics.items()}
        self.rows.append(
            {
                "epoch": trainer.current_epoch,
                **pl_module.epoch_means.values(),
                **measured,
                "epoch_seconds": time.perf_counter() - self._begin,
                "instances_per_second": data.instances_per_evaluation / (self._trained - self._begin),
            }
        )
        write_atomically(self.path, pl.DataFrame(self.rows, infer_schema_length=None).write_csv)
        self._on_row(self.rows[-1])

    def state_dict(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of a checkpoint; who follows this attempt gets the earlier epochs too."""
        self.rows = state_dict["rows"]
        for row in self.rows:
            self._on_row(row)
