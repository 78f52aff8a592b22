"""Training of one stage: the epoch is chosen, the final model made, and measured."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from lightning.pytorch.callbacks import EarlyStopping

from llp.config.schema import Hardware, SelectBy
from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod
from llp.metrics.evaluation import main_metric
from llp.metrics.on_device import epoch_measures
from llp.training.callbacks import BestWeights, Curve, Row, monitor_of
from llp.training.evaluation import EpochMeasures, evaluate, score_test_rows
from llp.training.fitting import Fitting
from llp.training.place import device_of
from llp.training.refit import ChosenEpoch, Refitted, refit

log = logging.getLogger(__name__)


@dataclass
class StageResult:
    """What training of one stage came to.

    Attributes
    ----------
    method : LLPMethod
        As it is in the end, on the CPU.
    device : torch.device
        Where it was trained and measured.
    chosen : ChosenEpoch
        The choice of the epoch: its curve, and the weights then.
    refitted : Refitted or None
        How long and on what the method was trained anew after the choice; None where it was not.
    measures : dict
        Every measure on the test rows, or on bags, at the end; of held-out bags those of the chosen epoch.
    seconds : float
        Wall-clock time of this process for the stage.
    """

    method: LLPMethod
    device: torch.device
    chosen: ChosenEpoch
    refitted: Refitted | None
    measures: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class StageFiles:
    """Where a stage writes: its curve, and the folder of its checkpoints."""

    curve: Path
    checkpoints: Path

    @property
    def resume(self) -> Path:
        """From which the search for the epoch goes on."""
        return self.checkpoints / "resume.ckpt"

    @property
    def chosen(self) -> Path:
        """What the search came to, while the refit is under way."""
        return self.checkpoints / "chosen.ckpt"

    @property
    def refit(self) -> Path:
        """From which the refit goes on."""
        return self.checkpoints / "refit.ckpt"


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
    again: Callable[[], tuple[LLPMethod, LLPDataModule]] | None = None,
) -> StageResult:
    """Train a method to its early stop, restore the best weights, perhaps train anew on all bags, and measure.

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
    again : callable, optional
        Gives the method as it was before its first step, and data that hold nothing out, for a refit.
    """
    begin = time.perf_counter()
    measures = again is None or data.held_out_bags_measure
    found = ChosenEpoch.read(files.chosen, method.model) if again is not None and method.trains else None
    if found is None:
        found = _choose(
            method,
            data,
            files,
            max_epochs=max_epochs,
            patience=patience,
            select_by=select_by,
            hardware=hardware,
            checkpoint_minutes=checkpoint_minutes,
            on_row=on_row,
            name=name,
            measure=measures,
        )
    else:
        for row in found.rows:
            on_row(row)
    result = StageResult(method, device_of(hardware), found, None, found.measures or {}, 0.0)
    if again is not None:
        if method.trains:
            found.write(files.chosen)
            files.resume.unlink(missing_ok=True)
        result.method, all_data = again()
        measured = refit(
            result.method,
            all_data,
            files.refit,
            steps=found.steps,
            hardware=hardware,
            checkpoint_minutes=checkpoint_minutes,
            measure=not measures,
            name=name,
        )
        result.measures = measured or result.measures
        result.refitted = Refitted(found.steps, len(all_data.train_bags), len(all_data.train_bags.rows))
    result.seconds = time.perf_counter() - begin
    return result


def _choose(
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
    measure: bool,
) -> ChosenEpoch:
    """Train to the early stop and restore the best weights: see `train_stage`."""
    monitor = monitor_of(method, select_by)
    best = BestWeights(monitor)
    share = data.minibatches_per_look / data.minibatches_per_epoch
    curve = Curve(files.curve, share * len(data.train_bags.rows), on_row)
    stopper = EarlyStopping(monitor.name, mode=monitor.mode, patience=patience, check_finite=False)
    # Lightning calls them in this order: the epoch is measured before the best weights are kept and the early stop
    # decides. An epoch of Lightning's is one look at the test rows or the held-out bags: trainer.evaluate_every may ask
    # for several of them in an epoch, and patience counts looks
    fitting = Fitting(
        method,
        data,
        [EpochMeasures(held_out=data.protocol == "holdout"), best, stopper, curve],
        looks=max(1, max_epochs * data.minibatches_per_epoch // data.minibatches_per_look),
        hardware=hardware,
        checkpoint=files.resume,
        checkpoint_minutes=checkpoint_minutes,
        evaluates=True,
        name=name,
        shown=monitor.name,
    )
    untrained = None
    with fitting.guarded():
        if data.protocol == "paper":  # the holdout protocol touches the test rows once, at the end
            scores, labels = score_test_rows(method, data)
            untrained = epoch_measures(scores, labels, method.label_kind)[main_metric(method.label_kind)[0]]
        if method.trains:
            fitting.fit()
            method.model.load_state_dict(best.weights)
            method.to(fitting.device)  # the trainer took it back to the CPU
        measures = evaluate(method, data) if measure else None
    method.cpu()
    return ChosenEpoch(
        rows=curve.rows,
        epoch=best.epoch,
        steps=(best.epoch + 1) * data.minibatches_per_look,
        held_out=best.value if select_by != "test" and method.trains else None,
        early_stopped=stopper.wait_count >= patience,
        untrained=untrained,
        measures=measures,
        weights={name: weight.cpu() for name, weight in best.weights.items()},
    )
