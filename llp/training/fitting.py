"""One training under Lightning: what every training has around its steps, and how one that was cut off goes on."""

import logging
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import lightning as L
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities.exceptions import SIGTERMException

from llp import signals
from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod
from llp.training.callbacks import Position, Stop
from llp.training.chunks import ChunkTraining
from llp.training.finite import StopUnlessFinite, stopped_unless_finite
from llp.training.place import device_of, keeps_on
from llp.training.plan import Plan
from llp.training.progress import SignOfLife
from llp.training.resume import ResumeCheckpoint, ResumeFile

_ADVICE = (".*does not have many workers.*", ".*number of training batches.*", ".*LeafSpec.*", ".*srun.*")

log = logging.getLogger(__name__)


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


class Fitting:
    """A method that is trained on its data.

    Parameters
    ----------
    method, data
        What is trained, on what.
    callbacks : sequence of Callback
        What this training has of its own.
    plan : Plan
        How.
    looks : int
        Looks at the model, each an epoch to Lightning.
    checkpoint : Path
        Where it writes what it needs to resume.
    shown : str or None
        The logged value that the sign of life shows; None where the model is not evaluated at the looks.

    Attributes
    ----------
    device : torch.device
        Where it is computed.
    """

    @_without_advice()
    def __init__(
        self,
        method: LLPMethod,
        data: LLPDataModule,
        callbacks: Sequence[Callback],
        plan: Plan,
        *,
        looks: int,
        checkpoint: Path,
        shown: str | None = None,
    ) -> None:
        hardware = plan.hardware
        self._method, self._data, self._checkpoint = method, data, checkpoint
        self._resume_file = ResumeFile()
        self._sign_of_life = SignOfLife(plan.name, data, shown)
        self.device = device_of(hardware)
        if hardware.row_order == "bag" and method.sees_instance_labels:
            alone = f"{type(method).__name__} is trained on single instances"
            log.warning("hardware.row_order=bag has no effect: %s", alone)
        around = [
            Position(data), StopUnlessFinite(), *callbacks, ResumeCheckpoint(checkpoint, 60 * plan.checkpoint_minutes),
            self._sign_of_life, Stop(),
        ]  # fmt: skip
        if keeps_on(self.device, hardware, data, method):
            around.append(ChunkTraining(data.keep_on(self.device)))
        elif self.device.type == "cuda":
            data.pin()
        self._trainer = L.Trainer(
            max_epochs=looks,
            limit_val_batches=0 if shown is None else None,
            accelerator=self.device.type,
            deterministic=hardware.deterministic,
            devices=1,
            callbacks=around,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
            plugins=[LightningEnvironment(), self._resume_file],  # inside a Slurm job Lightning would install handlers
            default_root_dir=checkpoint.parent,
        )
        method.take_train_split(data.train_split)
        method.take_start(data.train_split)
        method.to(self.device)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Tell in one line of numbers that are not finite, and take the sign of life away in the end."""
        with closing(self._sign_of_life), stopped_unless_finite(self._trainer, self._method):
            yield

    @_without_advice()
    def fit(self) -> None:
        """Train, from a checkpoint on where there is one; a run that a signal stops ends with that signal's code."""
        resumes = self._resume_file.open(self._checkpoint, self._method.state_dict())
        try:
            with signals.deferred():
                self._trainer.fit(
                    self._method,
                    datamodule=self._data,
                    ckpt_path=self._checkpoint if resumes else None,
                    weights_only=True,
                )
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
