"""A sign of life within an epoch: bars on a terminal, one for each run under way; elsewhere a line now and then."""

import logging
import multiprocessing
import sys
import threading
import time
from typing import Any, TextIO

import lightning as L
from lightning.pytorch.callbacks import Callback
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Column

from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod

log = logging.getLogger(__name__)

SECONDS_BETWEEN_FRAMES = 1.0
"""On a terminal: drawing takes some milliseconds of the training's time."""
SECONDS_BETWEEN_LINES = 30.0


class _Bars:
    """The bars of this process's runs at the foot of the terminal; log lines appear above them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._moved: list[tuple[logging.StreamHandler[TextIO], TextIO]] = []

    def draw(self, task: TaskID | None, name: str, *, total: int, **fields: Any) -> TaskID:
        """Draw a run's bar, a new one where it has none."""
        with self._lock:
            if self._progress is None:
                self._progress = self._start()
            if task is None:
                task = self._progress.add_task(name, total=total, **fields)
            self._progress.update(task, **fields)
            self._progress.refresh()
            return task

    def remove(self, task: TaskID) -> None:
        """Take a run's bar away; the last one leaves the terminal as it was."""
        with self._lock:
            assert self._progress is not None
            self._progress.remove_task(task)
            if not self._progress.task_ids:
                self._progress.stop()
                for handler, stream in self._moved:
                    handler.setStream(stream)
                self._progress = None

    def _start(self) -> Progress:
        name = Column(no_wrap=True, max_width=max(16, Console().width - 90))  # what is long gives way first
        progress = Progress(
            TextColumn("{task.description}", table_column=name),
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"),
            auto_refresh=False,
            transient=True,
        )
        before = (sys.stdout, sys.stderr)
        progress.start()  # it puts streams in their place that print above the bars; logging holds on to the old ones
        handlers = [one for one in logging.getLogger().handlers if isinstance(one, logging.StreamHandler)]
        self._moved = [(handler, handler.stream) for handler in handlers if handler.stream in before]
        for handler, _ in self._moved:
            handler.setStream(sys.stdout)
        return progress


_bars = _Bars()


class SignOfLife(Callback):
    """Shows where a training stands within its epoch; costs a look at the clock for each batch.

    Parameters
    ----------
    name : str
        The run in words.
    data : LLPDataModule
        What is trained on.
    shown : str or None
        The logged value that is shown.
    """

    def __init__(self, name: str, data: LLPDataModule, shown: str | None) -> None:
        self._name = name
        self._n_minibatches = data.minibatches_per_look  # an epoch of Lightning's
        self._n_instances = len(data.train_bags.rows) * data.minibatches_per_look / data.minibatches_per_epoch
        self._shown = shown
        # in a launcher's worker process the terminal belongs to several runs that know nothing of each other
        alone = multiprocessing.current_process().name == "MainProcess"
        self._terminal = alone and sys.stdout.isatty()
        self._seconds = SECONDS_BETWEEN_FRAMES if self._terminal else SECONDS_BETWEEN_LINES
        self._task: TaskID | None = None
        self._metric: float | None = None
        self._begin = self._next = 0.0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the epoch's clock; nothing is shown while epochs are short."""
        self._begin = time.monotonic()
        if self._task is None:
            self._next = self._begin + self._seconds

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *args: Any) -> None:
        """Show it if it is time."""
        if time.monotonic() >= self._next:
            assert isinstance(pl_module, LLPMethod)
            not_counted_yet = pl_module.take_steps is None
            n_taken = pl_module.steps_taken + not_counted_yet
            self._show(trainer, n_taken - trainer.current_epoch * self._n_minibatches)

    def on_validation_batch_end(self, trainer: L.Trainer, *args: Any) -> None:
        """Show the epoch's end if it is time."""
        if time.monotonic() >= self._next:
            self._show(trainer, self._n_minibatches)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Keep the epoch's value."""
        if self._shown is not None:
            self._metric = float(trainer.callback_metrics[self._shown])

    def close(self) -> None:
        """Take the bar away."""
        if self._task is not None:
            _bars.remove(self._task)
            self._task = None

    def _show(self, trainer: L.Trainer, n_taken: int) -> None:
        now = time.monotonic()
        self._next = now + self._seconds
        text = self._text(n_taken, now - self._begin)
        if self._metric is not None:
            text += f", {self._shown} {self._metric:.4f}"
        if self._terminal:
            fields = {"epoch": trainer.current_epoch, "completed": n_taken, "text": text}
            self._task = _bars.draw(self._task, self._name, total=self._n_minibatches, **fields)
        else:
            of = f"{n_taken:,} of {self._n_minibatches:,} minibatches"
            log.info("%s: epoch %d, %s, %s", self._name, trainer.current_epoch, of, text)

    def _text(self, n_taken: int, seconds: float) -> str:
        if n_taken == self._n_minibatches:
            return "evaluation"
        rate = self._n_instances * n_taken / self._n_minibatches / seconds
        left = seconds * (self._n_minibatches - n_taken) / max(1, n_taken)
        return f"{rate:,.0f} instances/s, {_duration(left)} left"


def _duration(seconds: float) -> str:
    """A time in hours, minutes and seconds.

    >>> _duration(4000), _duration(59.6)
    ('1:06:40', '0:01:00')
    """
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
