"""Training of one stage: the epoch is chosen, the final model made, and measured."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from lightning.pytorch.callbacks import EarlyStopping

from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod
from llp.training.curve import Curve
from llp.training.evaluation import EpochMeasures, evaluate, main_measure
from llp.training.finite import require_finite, stopped_unless_finite
from llp.training.fitting import Plan, fit, trainer_of
from llp.training.place import device_of
from llp.training.recalibration import recalibrate
from llp.training.selection import BestWeights, ChosenEpoch

log = logging.getLogger(__name__)


class Refitted(NamedTuple):
    """A method's second training: optimizer steps, train bags and their instances."""

    steps: int
    bags: int
    instances: int


@dataclass
class StageResult:
    """A stage that was trained and measured."""

    method: LLPMethod  # as it is in the end, on the CPU
    device: torch.device  # where it was trained and measured
    chosen: ChosenEpoch
    refitted: Refitted | None  # None where it was not trained again after the choice
    measures: dict[str, float]  # on the test rows, or on bags, at the end; of held-out bags at the chosen epoch
    sums: torch.Tensor | None  # (4, K) of these bags (`predict_bags`)
    seconds: float  # wall-clock time of this process for the stage


def train_stage(
    method: LLPMethod,
    data: LLPDataModule,
    plan: Plan,
    again: Callable[[], tuple[LLPMethod, LLPDataModule]] | None = None,
) -> StageResult:
    """Train to the early stop, restore the best weights, perhaps train `again` on all bags, and measure."""
    begin = time.perf_counter()
    measures = again is None or data.held_out_bags_measure  # what is chosen; else what is trained again
    chosen = _chosen_before(method, plan) if again is not None else None
    if chosen is None:
        chosen = _choose(method, data, plan, measure=measures)
    result = StageResult(method, device_of(plan.hardware), chosen, None, chosen.measures or {}, chosen.sums, 0.0)
    if again is not None:
        if method.trains:
            chosen.write(plan.checkpoints / "chosen.ckpt")
            (plan.checkpoints / "resume.ckpt").unlink(missing_ok=True)
        result.method, all_data = again()
        measured = _refit(result.method, all_data, plan, chosen, measure=not measures)
        if measured is not None:
            result.measures, result.sums = measured
        result.refitted = Refitted(chosen.steps, len(all_data.train_bags), len(all_data.train_bags.rows))
    result.seconds = time.perf_counter() - begin
    return result


def _chosen_before(method: LLPMethod, plan: Plan) -> ChosenEpoch | None:
    """The choice of an attempt that was cut off in its refit; who follows this one gets its rows too."""
    chosen = ChosenEpoch.read(plan.checkpoints / "chosen.ckpt", method.model) if method.trains else None
    for row in [] if chosen is None else chosen.rows:
        plan.on_row(row)
    return chosen


def _choose(method: LLPMethod, data: LLPDataModule, plan: Plan, *, measure: bool) -> ChosenEpoch:
    """Train to the early stop and restore the best weights."""
    monitor, most = plan.monitor, plan.trainer.max_epochs
    best, curve = BestWeights(monitor), Curve(plan.curve, plan.on_row)
    stop = EarlyStopping(monitor.name, mode=monitor.mode, patience=plan.trainer.patience, check_finite=False)
    # Lightning calls them in this order: the epoch is measured before the best weights are kept and the early stop
    # decides. An epoch of Lightning's ends with an evaluation: trainer.evaluate_every may ask for several of them in an
    # epoch, and patience counts evaluations
    trainer = trainer_of(
        plan,
        [EpochMeasures(), best, stop, curve],
        evaluations=max(1, most * data.minibatches_per_epoch // data.minibatches_per_evaluation),
        checkpoint=plan.checkpoints / "resume.ckpt",
        shown=monitor.name,
    )
    method.to(device_of(plan.hardware))
    with stopped_unless_finite(trainer, method):
        # the holdout protocol touches the test rows once, at the end
        untrained = main_measure(method, data) if data.protocol == "paper" else None
        if method.trains:
            fit(trainer, method, data)
            method.model.load_state_dict(best.weights)
        if plan.recalibrate and measure:
            recalibrate(method, data)
            best.weights = method.model.state_dict()
        measures, sums = evaluate(method, data) if measure else (None, None)
    method.cpu()
    return ChosenEpoch(
        rows=curve.rows,
        epoch=best.epoch,
        steps=(best.epoch + 1) * data.minibatches_per_evaluation,
        held_out=best.value if monitor.held_out and method.trains else None,
        early_stopped=stop.wait_count >= plan.trainer.patience,
        untrained=untrained,
        measures=measures,
        sums=sums,
        weights={name: weight.cpu() for name, weight in (best.weights or method.model.state_dict()).items()},
    )


def _refit(
    method: LLPMethod, data: LLPDataModule, plan: Plan, chosen: ChosenEpoch, *, measure: bool
) -> tuple[dict[str, float], torch.Tensor | None] | None:
    """Train a method, as it is before its first step, for the chosen steps on data that hold nothing out."""
    steps = chosen.steps
    data.stop_after(steps)
    evaluations, named = math.ceil(steps / data.minibatches_per_evaluation), replace(plan, name=f"{plan.name} refit")
    trainer = trainer_of(named, [], evaluations=evaluations, checkpoint=plan.checkpoints / "refit.ckpt")
    log.info("%s: refit on all %d train bags, %d steps", plan.name, len(data.train_bags), steps)
    method.to(device_of(plan.hardware))
    with stopped_unless_finite(trainer, method):
        if method.trains:
            fit(trainer, method, data)
            require_finite(method)
            if method.steps_taken != steps:
                raise RuntimeError(f"the refit has taken {method.steps_taken} of {steps} steps")
        if plan.recalibrate:
            recalibrate(method, data)
        measured = evaluate(method, data) if measure else None
    method.cpu()
    return measured
