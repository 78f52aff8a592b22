"""Training of one stage under Lightning: best weights, early stopping, the epochs' curve, resume checkpoints."""

import csv
import logging
import math
import signal
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.callbacks import Callback, EarlyStopping
from lightning.pytorch.utilities.exceptions import SIGTERMException

from llp import stop
from llp.chunks import ChunkTraining, PlainStep, Step
from llp.data.datamodule import LLPDataModule
from llp.data.resident import fits_on
from llp.data.table import InstanceTable
from llp.files import is_whole, write_atomically
from llp.methods.base import LLPMethod
from llp.metrics.evaluation import all_measures, main_metric
from llp.metrics.on_device import epoch_measures

# Lightning's advice for interactive use says nothing about a run of a grid
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
for _message in (".*does not have many workers.*", ".*number of training batches.*", ".*LeafSpec.*"):
    warnings.filterwarnings("ignore", _message)

log = logging.getLogger(__name__)

Row = dict[str, float]


@dataclass(frozen=True)
class Monitor:
    """The value that picks the epoch: its logged name and whether larger ('max') or smaller ('min') is better."""

    name: str
    mode: str

    def better(self, value: float, than: float) -> bool:
        """Whether `value` beats `than`; NaN never does, and anything beats NaN."""
        if math.isnan(than):
            return not math.isnan(value)
        return value > than if self.mode == "max" else value < than


def monitor_of(method: LLPMethod, data: LLPDataModule) -> Monitor:
    """What the protocol selects by: the test metric, or the loss on held-out bags."""
    if data.protocol == "holdout":
        return Monitor("held_out_loss", "min")
    name, mode = main_metric(method.label_kind)
    return Monitor(f"test_{name}", mode)


class BestWeights(Callback):
    """Keeps a copy of the model's weights at the best epoch; part of a resume checkpoint."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.value = float("nan")
        self.epoch = -1
        self.weights: dict[str, torch.Tensor] = {}

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Copy the weights if this epoch is the best so far (the first one always is)."""
        value = float(trainer.callback_metrics[self.monitor.name])
        if self.epoch < 0 or self.monitor.better(value, self.value):
            self.value, self.epoch = value, trainer.current_epoch
            assert isinstance(pl_module, LLPMethod)
            self.weights = {name: w.detach().clone() for name, w in pl_module.model.state_dict().items()}

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
    n_instances : int
        Train instances of an epoch, for the instances per second.
    on_row : callable
        Called with each new row.
    """

    def __init__(self, path: Path, n_instances: int, on_row: Callable[[Row], None]) -> None:
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
                **pl_module.epoch_sums(),
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


class ResumeCheckpoint(Callback):
    """Writes what a cut-off run needs to go on, after an epoch, at most every few minutes.

    Parameters
    ----------
    path : Path
        Replaced as a whole, never half-written.
    every_seconds : float
        Least time between two of them.
    """

    def __init__(self, path: Path, every_seconds: float) -> None:
        self.path = path
        self._every_seconds = every_seconds
        self._last = time.monotonic()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Save if it is time; not after the last epoch, whose end a checkpoint could not tell."""
        if trainer.should_stop or time.monotonic() - self._last < self._every_seconds:
            return
        write_atomically(self.path, lambda path: trainer.save_checkpoint(path))
        self._last = time.monotonic()


class Stop(Callback):
    """Ends training where a signal came that Lightning did not hear: it listens in the main thread alone."""

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Look for it after each step."""
        stop.exit_if_received()

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Look for it after each batch."""
        stop.exit_if_received()


def write_csv(path: Path, rows: list[Row]) -> None:
    """Write rows with their union of columns, in order of appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)

    write_atomically(path, write)


@dataclass
class StageResult:
    """What training of one stage came to.

    Attributes
    ----------
    device : torch.device
        Where it was trained and measured.
    untrained : float or None
        The metric on the test rows before the first step; None where the protocol touches them only once.
    rows : list of dict
        The epochs' curve.
    best_epoch : int
        The chosen epoch, -1 where nothing is trained.
    early_stopped : bool
        Whether the curve, and not the epoch limit, ended it.
    measures : dict
        Every measure on the test rows at the chosen epoch.
    seconds : float
        Wall-clock time of this process for the stage.
    """

    device: torch.device
    untrained: float | None
    rows: list[Row] = field(default_factory=list)
    best_epoch: int = -1
    early_stopped: bool = False
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class StageFiles:
    """Where a stage writes: its curve and its resume checkpoint."""

    curve: Path
    checkpoint: Path


@dataclass(frozen=True)
class Hardware:
    """Where and how a stage is computed; nothing of it is part of a run's identity.

    Attributes
    ----------
    accelerator : {'auto', 'cpu', 'gpu'}
        The kind of device.
    deterministic : bool
        Whether a GPU adds in a fixed order.
    features_on : {'auto', 'device', 'host'}
        Whether the table lives in the device's memory, and training goes by chunks (`llp.chunks`).
    cuda_graphs : bool
        Whether a step on resident data is captured (`llp.cuda_graphs`).
    """

    accelerator: str
    deterministic: bool
    features_on: str
    cuda_graphs: bool

    def keeps_on(self, device: torch.device, table: InstanceTable) -> bool:
        """Whether the table is to live on the device."""
        if self.features_on == "auto":
            return device.type == "cuda" and fits_on(table, device)
        return self.features_on == "device"


def train_stage(
    method: LLPMethod,
    data: LLPDataModule,
    files: StageFiles,
    *,
    max_epochs: int,
    patience: int,
    hardware: Hardware,
    checkpoint_minutes: float,
    on_row: Callable[[Row], None],
) -> StageResult:
    """Train a method to its early stop, restore the best weights and measure them on the test rows."""
    begin = time.perf_counter()
    monitor = monitor_of(method, data)
    best = BestWeights(monitor)
    curve = Curve(files.curve, len(data.train_bags.rows), on_row)
    stopper = EarlyStopping(monitor.name, mode=monitor.mode, patience=patience, check_finite=False)
    resume = ResumeCheckpoint(files.checkpoint, 60 * checkpoint_minutes)
    trainer = L.Trainer(
        max_epochs=max_epochs,
        accelerator=hardware.accelerator,
        deterministic=hardware.deterministic,
        devices=1,
        callbacks=[best, stopper, curve, resume, Stop()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        plugins=[LightningEnvironment()],  # inside a Slurm job Lightning would install requeue handlers
        default_root_dir=files.curve.parent,
    )
    attach(method, trainer, data)
    device = trainer.strategy.root_device
    method.to(device)
    if hardware.keeps_on(device, data.table):
        trainer.callbacks.append(_chunk_training(data, device, max_epochs, graphs=hardware.cuda_graphs))  # type: ignore[attr-defined]
    elif device.type == "cuda":
        data.pin()
    untrained = None
    if data.protocol == "paper":
        untrained = epoch_measures(*score_test_rows(method, data), method.label_kind)[main_metric(method.label_kind)[0]]
    if method.trains:
        _fit(trainer, method, data, files.checkpoint)
        method.model.load_state_dict(best.weights)
        method.to(device)  # the trainer took it back to the CPU
    measures = evaluate(method, data)
    method.cpu()
    return StageResult(
        device=device,
        untrained=untrained,
        rows=curve.rows,
        best_epoch=best.epoch,
        early_stopped=stopper.wait_count >= patience,
        measures=measures,
        seconds=time.perf_counter() - begin,
    )


def _chunk_training(data: LLPDataModule, device: torch.device, max_epochs: int, *, graphs: bool) -> ChunkTraining:
    """Keep the data on the device; says how its minibatches are trained on."""
    gatherer = data.keep_on(device)

    def make_step(method: LLPMethod, optimizer: torch.optim.Optimizer) -> Step:
        plain = PlainStep(method, optimizer, gatherer)
        if device.type != "cuda" or not graphs or not method.static_shape:
            return plain
        from llp.cuda_graphs import CapturedStep

        return CapturedStep(plain, n_ids=data.ids_per_batch, n_steps=max_epochs * data.minibatches_per_epoch)

    return ChunkTraining(make_step)


def _fit(trainer: L.Trainer, method: LLPMethod, data: LLPDataModule, checkpoint: Path) -> None:
    """Train, from the checkpoint on where there is one; a run that a signal stops ends with that signal's code."""
    go_on = checkpoint if is_whole(checkpoint) else None
    if checkpoint.is_file() and go_on is None:
        log.warning("%s is damaged: training starts from the first epoch", checkpoint)
    try:
        trainer.fit(method, datamodule=data, ckpt_path=go_on, weights_only=False)
    except SystemExit as end:  # Lightning's answer to both signals, with code 0 for SIGTERM and without a word
        number = stop.received() or (signal.SIGTERM if isinstance(end, SIGTERMException) else signal.SIGINT)
        log.warning("stopped by %s; the same command goes on with the run", number.name)
        raise SystemExit(128 + number) from None


def attach(method: LLPMethod, trainer: L.Trainer, data: LLPDataModule) -> None:
    """Let a method read its train split before (or without) `trainer.fit`."""
    trainer.datamodule = data  # type: ignore[attr-defined]
    method.trainer = trainer
    method.setup("fit")


def evaluate(method: LLPMethod, data: LLPDataModule) -> dict[str, float]:
    """Every measure of the method's current weights on the fold's test rows."""
    scores, labels = score_test_rows(method, data)
    return all_measures(scores.cpu().numpy(), labels.cpu().numpy(), method.label_kind)


@torch.inference_mode()
def score_test_rows(method: LLPMethod, data: LLPDataModule) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (log-odds for binary labels) and labels of the fold's test rows: (n,) float32 each, on the device."""
    device = method.device
    method.eval()
    scores, labels = [], []
    batches: Iterable[Any] = data.test_dataloader()
    for batch in batches:
        stop.exit_if_received()
        raw = method(batch.categorical.to(device), batch.numeric.to(device))
        scores.append(method.log_odds(raw).float())
        labels.append(batch.label.to(device))
    method.train()
    return torch.cat(scores), torch.cat(labels)
