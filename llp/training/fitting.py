"""One training under Lightning: what every training has around its steps, and how one that was cut off resumes."""

import logging
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lightning as L
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities.exceptions import SIGTERMException

from llp import signals
from llp.config.schema import Hardware, TrainerConfig
from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod
from llp.training.curve import Row
from llp.training.finite import Watch
from llp.training.place import device_of
from llp.training.progress import EpochProgress
from llp.training.resume import ResumeCheckpoint, ResumeFile
from llp.training.selection import Monitor

_ADVICE = (".*does not have many workers.*", ".*number of training batches.*", ".*LeafSpec.*", ".*srun.*")


@dataclass(frozen=True)
class Plan:
    """Settings of a stage's training: parsed once by whoever starts it, and handed on whole."""

    name: str  # the run in words
    trainer: TrainerConfig
    hardware: Hardware
    monitor: Monitor  # what picks the epoch
    curve: Path  # file of its rows
    checkpoints: Path  # folder of resume.ckpt, chosen.ckpt once the epoch is chosen, and refit.ckpt
    checkpoint_minutes: float  # least time between two checkpoints
    on_row: Callable[[Row], None]  # called with each row of the curve
    recalibrate: bool = False  # the final model, by the sums of its train bags


@contextmanager
def _without_advice() -> Iterator[None]:
    """Keep back Lightning's advice for interactive use, which says nothing about a run of a grid."""
    lightning = logging.getLogger("lightning.pytorch")
    level = lightning.level
    with warnings.catch_warnings():
        for message in _ADVICE:
            warnings.filterwarnings("ignore", message)
        lightning.setLevel(logging.WARNING)
        try:
            yield
        finally:
            lightning.setLevel(level)


@_without_advice()
def trainer_of(
    plan: Plan, callbacks: Sequence[Callback], *, evaluations: int, checkpoint: Path, shown: str | None = None
) -> L.Trainer:
    """Lightning's trainer for one training of a stage, whose `evaluations` are Lightning's epochs."""
    resume = ResumeCheckpoint(checkpoint, 60 * plan.checkpoint_minutes)
    return L.Trainer(
        max_epochs=evaluations,
        limit_val_batches=0 if shown is None else None,
        accelerator=device_of(plan.hardware).type,
        deterministic=plan.hardware.deterministic,
        devices=1,
        callbacks=[Watch(), *callbacks, resume, EpochProgress(plan.name, shown)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        plugins=[LightningEnvironment(), ResumeFile()],  # inside a Slurm job Lightning would install handlers
        default_root_dir=checkpoint.parent,
    )


@_without_advice()
def fit(trainer: L.Trainer, method: LLPMethod, data: LLPDataModule) -> None:
    """Train, from a checkpoint on where there is one; a run that a signal stops ends with that signal's code."""
    device = method.device
    written, file = trainer.checkpoint_callback, trainer.strategy.checkpoint_io
    assert isinstance(written, ResumeCheckpoint)
    assert isinstance(file, ResumeFile)
    resumes = file.open(written.path, method.state_dict())
    if data.in_chunks:
        method.automatic_optimization = False  # the optimizer's steps are taken by `LLPMethod.training_step`
    try:
        with signals.deferred():
            trainer.fit(method, datamodule=data, ckpt_path=written.path if resumes else None, weights_only=True)
    except SystemExit as end:  # Lightning's answer to a signal, where no command listens to these
        stopped, by_key = isinstance(end, SIGTERMException), isinstance(end.__context__, KeyboardInterrupt)
        if not (stopped or by_key):
            raise
        raise signals.Stopped(signal.SIGTERM if stopped else signal.SIGINT) from None
    method.to(device)  # the trainer took it back to the CPU
