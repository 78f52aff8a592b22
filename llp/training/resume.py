"""Checkpoints from which a run that was cut off resumes: written whole, read without executing anything."""

import importlib.metadata
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import Checkpoint
from torch import Tensor

from llp.files import is_intact, write_atomically
from llp.optim.row_gradient import rows_as_they_lie

log = logging.getLogger(__name__)

VERSIONS = {name: importlib.metadata.version(name) for name in ("llp-bench", "torch", "lightning")}
"""A checkpoint of other versions is not used: its run would not end as one that was never cut off."""


class ResumeCheckpoint(Checkpoint):
    """Writes what a cut-off run needs, after an epoch, once in `every_seconds`, as Lightning's last callback."""

    def __init__(self, path: Path, every_seconds: float) -> None:
        self.path = path
        self._every_seconds = every_seconds
        self._last = time.monotonic()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Save if it is time; not after the last epoch: a checkpoint does not store that training should stop."""
        if trainer.should_stop or time.monotonic() - self._last < self._every_seconds:
            return
        with rows_as_they_lie():
            trainer.save_checkpoint(self.path)
        self._last = time.monotonic()

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """Say what wrote it."""
        checkpoint["versions"] = VERSIONS


class ResumeFile(TorchCheckpointIO):
    """Writes and reads a checkpoint; Lightning's own way leads through the system's temporary folder."""

    def __init__(self) -> None:
        self._content: dict[str, Any] = {}

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write it beside its place and put it there."""
        write_atomically(Path(path), lambda temporary: torch.save(checkpoint, temporary))

    def open(self, path: Path, expected: Mapping[str, Any]) -> bool:
        """Read a checkpoint from which training can resume, by the module's `expected` state; else say why not."""
        content = read_checkpoint(path, lambda content: _problem(content, expected))
        self._content = content or {}
        return content is not None

    def load_checkpoint(self, path: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Hand over what `open` has read."""
        content, self._content = self._content, {}
        return content


def read_checkpoint(path: Path, problem_of: Callable[[dict[str, Any]], str | None]) -> dict[str, Any] | None:
    """The content of a checkpoint, none of it executed; None where it cannot be used, which is said in a line."""
    if not path.is_file():
        return None
    content: Any = None
    problem: str | None = "damaged"
    try:
        if is_intact(path):
            content = torch.load(path, map_location="cpu", weights_only=True)
            if not isinstance(content, dict) or "versions" not in content:
                problem = "no checkpoint of a run"
            else:
                other = content["versions"] != VERSIONS
                problem = "of other versions of the packages" if other else problem_of(content)
    except Exception as error:  # whatever an unpickler meets in a file that something else wrote
        problem = f"no checkpoint ({type(error).__name__})"
    if problem:
        log.warning("%s is %s: training starts from the first epoch", path, problem)
        return None
    return dict(content)


def _problem(content: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    """The reason for which training cannot resume from a file's content, or None."""
    parts = {"state_dict", "loops", "callbacks", "optimizer_states"}
    if not parts <= content.keys() or _shapes(content["state_dict"]) != _shapes(expected):
        return "of another model"
    return None


def _shapes(state: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {name: (*value.shape, value.dtype) if isinstance(value, Tensor) else () for name, value in state.items()}
