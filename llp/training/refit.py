"""The final model: trained anew on all train bags, as long as the chosen epoch took, and what was chosen on disk."""

import logging
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch

from llp.data.datamodule import LLPDataModule
from llp.files import write_atomically
from llp.methods.base import LLPMethod
from llp.training.curve import Row
from llp.training.evaluation import evaluate
from llp.training.finite import require_finite, stopped_unless_finite
from llp.training.fitting import Plan, fit, trainer_of
from llp.training.place import device_of
from llp.training.resume import VERSIONS, read_checkpoint

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChosenEpoch:
    """What the choice of the epoch came to.

    Attributes
    ----------
    rows : list of dict
        The epochs' curve.
    epoch : int
        The chosen one, -1 where nothing is trained.
    steps : int
        Optimizer steps up to its end.
    held_out : float or None
        The estimate on what is held out that picked it; None where the test metric did, or nothing is trained.
    early_stopped : bool
        Whether the curve, and not the epoch limit, ended the search.
    untrained : float or None
        The metric on the test rows before the first step; None where the protocol touches them only once.
    measures : dict or None
        Every measure of the model at that epoch; None where only a refit is measured.
    weights : dict
        Of the model at that epoch.
    """

    rows: list[Row]
    epoch: int
    steps: int
    held_out: float | None
    early_stopped: bool
    untrained: float | None
    measures: dict[str, float] | None
    weights: dict[str, torch.Tensor]

    def write(self, path: Path) -> None:
        """Write it, so that a run that is cut off later does not search again."""
        content = {"versions": VERSIONS, "chosen": asdict(self)}
        write_atomically(path, lambda temporary: torch.save(content, temporary))

    @classmethod
    def read(cls, path: Path, model: torch.nn.Module) -> Self | None:
        """What an earlier attempt chose; None where there is no such file, or one that does not fit the model."""
        names = set(cls.__dataclass_fields__)

        def problem(content: dict[str, Any]) -> str | None:
            chosen = content.get("chosen")
            fits = isinstance(chosen, dict) and chosen.keys() == names and chosen["weights"].keys() == expected.keys()
            return None if fits else "of another model"

        expected = model.state_dict()
        content = read_checkpoint(path, problem)
        return None if content is None else cls(**content["chosen"])


class Refitted(NamedTuple):
    """How long and on what a method was trained anew.

    Attributes
    ----------
    steps : int
        Optimizer steps.
    bags, instances : int
        Train bags, and their instances.
    """

    steps: int
    bags: int
    instances: int


def refit(method: LLPMethod, data: LLPDataModule, plan: Plan, *, steps: int, measure: bool) -> dict[str, float] | None:
    """Train a method for a number of steps on data that hold nothing out.

    Parameters
    ----------
    method, data
        What is trained, as it is before its first step, on what.
    plan : Plan
        How.
    steps : int
        Optimizer steps.
    measure : bool
        Whether the result is measured on the fold's test rows or test bags.

    Returns
    -------
    dict or None
        The measures.
    """
    data.stop_after(steps)
    looks, named = math.ceil(steps / data.minibatches_per_look), replace(plan, name=f"{plan.name} refit")
    trainer, device = (
        trainer_of(named, [], looks=looks, checkpoint=plan.checkpoints / "refit.ckpt"),
        device_of(plan.hardware),
    )
    log.info("%s: refit on all %d train bags, %d steps", plan.name, len(data.train_bags), steps)
    method.to(device)
    with stopped_unless_finite(trainer, method):
        if method.trains:
            fit(trainer, method, data)
            require_finite(method)
            if method.steps_taken != steps:
                raise RuntimeError(f"the refit has taken {method.steps_taken} of {steps} steps")
            method.to(device)  # the trainer took it back to the CPU
        measures = evaluate(method, data) if measure else None
    method.cpu()
    return measures
