"""How a stage is trained: parsed once by whoever starts it, and handed on whole to what trains."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from llp.config.schema import Hardware, SelectBy, TrainerConfig
from llp.training.callbacks import Row


@dataclass(frozen=True)
class StageFiles:
    """Where a stage writes: its curve, and the folder of its checkpoints."""

    curve: Path
    checkpoints: Path

    @property
    def resume(self) -> Path:
        """From which the search for the epoch resumes."""
        return self.checkpoints / "resume.ckpt"

    @property
    def chosen(self) -> Path:
        """What the search came to, while the refit is under way."""
        return self.checkpoints / "chosen.ckpt"

    @property
    def refit(self) -> Path:
        """From which the refit resumes."""
        return self.checkpoints / "refit.ckpt"


@dataclass(frozen=True)
class Plan:
    """How a stage is trained.

    Attributes
    ----------
    name : str
        The run in words.
    trainer : TrainerConfig
        Epochs at most, and without a better value.
    hardware : Hardware
        Where to compute.
    select_by : str
        What picks the epoch.
    files : StageFiles
        Where to write.
    checkpoint_minutes : float
        Least time between two checkpoints.
    on_row : callable
        Called with each row of the curve.
    """

    name: str
    trainer: TrainerConfig
    hardware: Hardware
    select_by: SelectBy
    files: StageFiles
    checkpoint_minutes: float
    on_row: Callable[[Row], None]
