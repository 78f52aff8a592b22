"""Training of one stage under Lightning, and the scores of the test rows."""

import logging
import math
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import lightning as L
import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.utilities.exceptions import SIGTERMException

from llp import signals
from llp.config.schema import Hardware, SelectBy
from llp.data.datamodule import LLPDataModule
from llp.data.on_device import fits_on
from llp.methods.base import LLPMethod
from llp.metrics.evaluation import main_metric
from llp.metrics.on_device import epoch_measures
from llp.training.callbacks import BestWeights, Curve, Position, Row, Stop, monitor_of
from llp.training.chunks import ChunkTraining, PlainStep, Step, own_hooks
from llp.training.evaluation import EpochMeasures, evaluate, score_test_rows
from llp.training.finite import StopUnlessFinite, stopped_unless_finite
from llp.training.progress import SignOfLife
from llp.training.resume import ResumeCheckpoint, ResumeFile

# Lightning's advice for interactive use says nothing about a run of a grid
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
for _message in (".*does not have many workers.*", ".*number of training batches.*", ".*LeafSpec.*", ".*srun.*"):
    warnings.filterwarnings("ignore", _message)

log = logging.getLogger(__name__)


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
    held_out : float or None
        The estimate on what is held out that picked the epoch; None where the test metric did, or nothing is trained.
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
    held_out: float | None = None
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class StageFiles:
    """Where a stage writes: its curve and its resume checkpoint."""

    curve: Path
    checkpoint: Path


def device_of(hardware: Hardware) -> torch.device:
    """The device to compute on."""
    found = None if hardware.accelerator == "cpu" else torch.accelerator.current_accelerator(check_available=True)
    return torch.device("cpu") if found is None else torch.device(found.type, 0)


def keeps_on(device: torch.device, hardware: Hardware, data: LLPDataModule, method: LLPMethod) -> bool:
    """Whether minibatches are gathered where the training is, in chunks."""
    if hardware.features_on != "auto":
        return hardware.features_on == "device"
    on_cpu = device.type == "cpu" and data.num_workers == 0  # whoever asks for workers wants them to gather
    on_gpu = device.type == "cuda" and fits_on(data.table, device)
    return (on_cpu or on_gpu) and not own_hooks(type(method))


def without_effect(device: torch.device, hardware: Hardware, method: LLPMethod, *, resident: bool) -> list[str]:
    """Options that change nothing in this combination, a line each."""
    if not hardware.cuda_graphs:
        return []
    reasons = {
        "the run is not on a CUDA device": device.type != "cuda",
        "the features are on the host": not resident,
        f"the steps of {type(method).__name__} have no static shape": not method.static_shape,
    }
    reason = next((reason for reason, holds in reasons.items() if holds), None)
    return [f"hardware.cuda_graphs=true has no effect: {reason}"] if reason else []


def train_stage(
    method: LLPMethod,
    data: LLPDataModule,
    files: StageFiles,
    *,
    max_epochs: int,
    patience: int,
    select_by: SelectBy,
    hardware: Hardware,
    checkpoint_minutes: float,
    on_row: Callable[[Row], None],
    name: str,
) -> StageResult:
    """Train a method to its early stop, restore the best weights and measure them on the test rows.

    Parameters
    ----------
    method, data, files
        What to train, on what, and where to write.
    max_epochs, patience : int
        Epochs at most, and without a better value.
    hardware : Hardware
        Where to compute.
    checkpoint_minutes : float
        Least time between two checkpoints.
    on_row : callable
        Called with each row of the curve.
    name : str
        The run in words.
    """
    begin = time.perf_counter()
    monitor = monitor_of(method, select_by)
    best = BestWeights(monitor)
    looks = math.ceil(max_epochs * data.minibatches_per_epoch / data.minibatches_per_look)
    share = data.minibatches_per_look / data.minibatches_per_epoch
    curve = Curve(files.curve, share * len(data.train_bags.rows), on_row)
    stopper = EarlyStopping(monitor.name, mode=monitor.mode, patience=patience, check_finite=False)
    resume = ResumeCheckpoint(files.checkpoint, 60 * checkpoint_minutes)
    resume_file = ResumeFile()
    device = device_of(hardware)
    resident = keeps_on(device, hardware, data, method)
    for line in without_effect(device, hardware, method, resident=resident):
        log.warning(line)
    measures_of_epoch = EpochMeasures(held_out=data.protocol == "holdout")
    sign_of_life = SignOfLife(name, data, monitor)
    # Lightning calls them in this order: the epoch is measured before the best weights are kept and the early stop
    # decides; the checkpoint is written last, whatever its place here
    callbacks = [
        Position(data), StopUnlessFinite(), measures_of_epoch, best, stopper, curve, resume, sign_of_life, Stop(),
    ]  # fmt: skip
    if resident:
        callbacks.append(_chunk_training(data, device, looks, graphs=hardware.cuda_graphs))
    elif device.type == "cuda":
        data.pin()
    # an epoch of Lightning's is one look at the test rows or the held-out bags: trainer.evaluate_every may ask for
    # several of them in an epoch, and patience counts looks
    trainer = L.Trainer(
        max_epochs=looks,
        accelerator=device.type,
        deterministic=hardware.deterministic,
        devices=1,
        callbacks=callbacks,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        plugins=[LightningEnvironment(), resume_file],  # inside a Slurm job Lightning would install requeue handlers
        default_root_dir=files.curve.parent,
    )
    method.take_train_split(data.train_split)
    method.to(device)
    untrained = None
    with closing(sign_of_life), stopped_unless_finite(trainer, method):
        if data.protocol == "paper":  # the holdout protocol touches the test rows once, at the end
            scores, labels = score_test_rows(method, data)
            untrained = epoch_measures(scores, labels, method.label_kind)[main_metric(method.label_kind)[0]]
        if method.trains:
            go_on = files.checkpoint if resume_file.open(files.checkpoint, method.state_dict()) else None
            _fit(trainer, method, data, go_on)
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
        held_out=best.value if select_by != "test" and method.trains else None,
        measures=measures,
        seconds=time.perf_counter() - begin,
    )


def _chunk_training(data: LLPDataModule, device: torch.device, looks: int, *, graphs: bool) -> ChunkTraining:
    """Keep the data on the device; says how its minibatches are trained on."""
    gatherer = data.keep_on(device)

    def make_step(method: LLPMethod, optimizer: torch.optim.Optimizer) -> Step:
        plain = PlainStep(method, optimizer, gatherer)
        if device.type != "cuda" or not graphs or not method.static_shape:
            return plain
        from llp.training.cuda_graphs import CapturedStep

        return CapturedStep(plain, n_ids=data.ids_per_batch, n_steps=looks * data.minibatches_per_look)

    return ChunkTraining(make_step)


def _fit(trainer: L.Trainer, method: LLPMethod, data: LLPDataModule, go_on: Path | None) -> None:
    """Train, from a checkpoint on where one is given; a run that a signal stops ends with that signal's code."""
    try:
        with signals.deferred():
            trainer.fit(method, datamodule=data, ckpt_path=go_on, weights_only=True)
    except SystemExit as end:
        number = _answered(end)
        if number is None:
            raise
        raise signals.Stopped(number) from None


def _answered(end: SystemExit) -> int | None:
    """The signal that Lightning answered by ending the process, where no command listens to signals."""
    if isinstance(end, SIGTERMException):
        return signal.SIGTERM
    return signal.SIGINT if isinstance(end.__context__, KeyboardInterrupt) else None
