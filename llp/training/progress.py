"""Progress within an epoch: a bar on a terminal; elsewhere a line now and then."""

import logging
import multiprocessing
import sys
import time
from datetime import timedelta
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from llp.data.datamodule import LLPDataModule
from llp.data.on_device import Chunk
from llp.methods.base import LLPMethod

log = logging.getLogger(__name__)

SECONDS_BETWEEN_FRAMES = 1.0
"""On a terminal: drawing takes some milliseconds of the training's time."""
SECONDS_BETWEEN_LINES = 30.0


class _Bar:
    """A bar at the foot of the terminal; log lines appear above it."""

    def __init__(self, name: str, total: int) -> None:
        column = Column(no_wrap=True, max_width=max(16, Console().width - 90))  # what is long gives way first
        self._progress = Progress(
            TextColumn("{task.description}", table_column=column),
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"),
            auto_refresh=False,
            transient=True,
        )
        before = (sys.stdout, sys.stderr)
        self._task = self._progress.add_task(name, total=total, epoch=0, text="")
        self._progress.start()  # it puts streams in their place that print above the bar; logging holds on to the old
        handlers = [one for one in logging.getLogger().handlers if isinstance(one, logging.StreamHandler)]
        self._moved = [(handler, handler.stream) for handler in handlers if handler.stream in before]
        for handler, _ in self._moved:
            handler.setStream(sys.stdout)

    def draw(self, **fields: Any) -> None:
        """Draw it with further fields."""
        self._progress.update(self._task, refresh=True, **fields)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()
        for handler, stream in self._moved:
            handler.setStream(stream)


class EpochProgress(Callback):
    """Shows where a training stands within its epoch, with the logged value `shown`: Lightning's bars count chunks."""

    def __init__(self, name: str, shown: str | None) -> None:
        self._name = name
        self._shown = shown
        # in a launcher's worker process the terminal belongs to several runs that know nothing of each other
        alone = multiprocessing.current_process().name == "MainProcess"
        self._terminal = alone and sys.stdout.isatty()
        self._seconds = SECONDS_BETWEEN_FRAMES if self._terminal else SECONDS_BETWEEN_LINES
        self._bar: _Bar | None = None
        self._value: float | None = None
        self._begin = self._next = 0.0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the epoch's clock; nothing is shown while epochs are short."""
        self._begin = time.monotonic()
        if self._bar is None:
            self._next = self._begin + self._seconds

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Show it if it is time."""
        if time.monotonic() >= self._next:
            assert isinstance(pl_module, LLPMethod)
            n_taken = pl_module.steps_taken + (not isinstance(batch, Chunk))  # Lightning calls callbacks before modules
            self._show(trainer, n_taken - trainer.current_epoch * _data(trainer).minibatches_per_evaluation)

    def on_validation_batch_end(self, trainer: L.Trainer, *args: Any) -> None:
        """Show the epoch's end if it is time."""
        if time.monotonic() >= self._next:
            self._show(trainer, _data(trainer).minibatches_per_evaluation)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Keep the epoch's value."""
        if self._shown is not None:
            self._value = float(trainer.callback_metrics[self._shown])

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """Take the bar away."""
        self.on_train_end(trainer, pl_module)

    def _show(self, trainer: L.Trainer, n_taken: int) -> None:
        now, data = time.monotonic(), _data(trainer)
        n = data.minibatches_per_evaluation  # of an epoch of Lightning's
        self._next = now + self._seconds
        seconds = now - self._begin
        rate, left = data.instances_per_evaluation * n_taken / n / seconds, seconds * (n - n_taken) / max(1, n_taken)
        text = "evaluation" if n_taken == n else f"{rate:,.0f} instances/s, {timedelta(seconds=round(left))} left"
        if self._value is not None:
            text += f", {self._shown} {self._value:.4f}"
        if self._terminal:
            self._bar = self._bar or _Bar(self._name, n)
            self._bar.draw(epoch=trainer.current_epoch, completed=n_taken, text=text)
        else:
            of = f"{n_taken:,} of {n:,} minibatches"
            log.info("%s: epoch %d, %s, %s", self._name, trainer.current_epoch, of, text)


def _data(trainer: L.Trainer) -> LLPDataModule:
    data: LLPDataModule = trainer.datamodule  # type: ignore[attr-defined]
    return data
