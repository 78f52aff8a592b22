"""One run from its config to its result record: one point of the grid.

Its folder `<outputs_dir>/<dataset>/<key>/<method>/fold=<k>/seed=<s>/<hash>/` has `config.yaml`, `run.log`,
`metrics.csv`, `checkpoints/`, and last and whole `result.json`: where it is, the run is finished. A failed run leaves
`error.json`.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING

from llp.config.commands import TrainConfig
from llp.config.own_code import placed_errors
from llp.data.noise import CAVEAT
from llp.files import locked
from llp.runs.attempt import Attempt, attempt_at, tidy
from llp.runs.build import Parts
from llp.runs.identity import Run
from llp.runs.load import CHOSEN, FINAL, serves
from llp.runs.record import RunRecord, StageRecord
from llp.runs.tracking import track

if TYPE_CHECKING:  # torch and Lightning take seconds to import; a finished run is skipped without them
    from llp.data.datamodule import LLPDataModule
    from llp.methods.base import LLPMethod
    from llp.training.curve import Row
    from llp.training.selection import Monitor

log = logging.getLogger(__name__)


def run_one(config: TrainConfig) -> RunRecord:
    """Run one point of the grid, unless it is finished; returns its result record.

    Parameters
    ----------
    config : TrainConfig
        A checked config. Nothing outside `data_dir` and `outputs_dir` is read or written.

    Raises
    ------
    InputError
        An option is wrong, or the dataset is not prepared.
    """
    return _run(config)[0]


def _run(config: TrainConfig) -> tuple[RunRecord, bool]:
    """The point's record, and whether another call made it: earlier, or while this one waited."""
    # the checks go from cheap to dear: the table, then what is built; none makes the run's folder
    parts = Parts.of(config)
    run = parts.run
    record = None if config.force else run.finished(config.keeps_weights, warn=False)  # under the lock it will
    if record is not None:
        tidy(run.folder)
        log.info("%s: finished before, skipped", run.point)
        return record, True
    parts.check()
    run.folder.mkdir(parents=True, exist_ok=True)
    with locked(run.folder / ".lock", f"{run.point}: another process is at it"):
        # asked again: another one may have finished the run while this one waited
        record = None if config.force else run.finished(config.keeps_weights)
        if record is not None:
            log.info("%s: finished meanwhile", run.point)
            return record, True
        with attempt_at(run, again=config.force) as attempt, placed_errors(config.targets, debug=config.debug):
            return _train(parts, attempt), False


def _train(parts: Parts, attempt: Attempt) -> RunRecord:
    """Train, measure and record a run, in its folder."""
    import torch

    from llp.metrics.evaluation import MAIN
    from llp.runs.outcome import keep_weights, run_record, write_bags
    from llp.training.fitting import Plan
    from llp.training.selection import monitor_of
    from llp.training.stage import train_stage

    config, run = parts.config, attempt.run
    if attempt.lost:
        begins = "begins again, no checkpoint was written before it was cut off"
        log.info("%s: %s (checkpoint_minutes=%g)", run.point, begins, config.checkpoint_minutes)
    earlier = _first_stage(parts)
    torch.set_num_threads(config.trainer.threads)
    method, data = parts.start(refit=False)
    monitor = monitor_of(config.protocol, method, data)
    _tell(run, method, data, monitor)
    if config.noise is not None:
        log.info("%s: %s", run.point, CAVEAT)
    with track(config.logger, run, attempt.number, MAIN[method.label_kind]) as tracked:

        def on_row(row: "Row") -> None:
            log.info("%s: %s", run.point, _row_line(row))
            if tracked is not None:
                tracked.log(row, step=int(row["epoch"]))

        again = partial(parts.start, refit=True) if data.holds_out and config.refits else None
        plan = Plan(
            name=str(run.point),
            trainer=config.trainer,
            hardware=config.hardware,
            monitor=monitor,
            curve=attempt.work / "metrics.csv",
            checkpoints=attempt.work / "checkpoints",
            checkpoint_minutes=config.checkpoint_minutes,
            on_row=on_row,
            recalibrate=bool(config.method.recalibrate),
        )
        stage = train_stage(method, data, plan, again)
        if stage.sums is not None:
            write_bags(attempt.work / "bags.csv", stage.sums, data)
        if config.keeps_weights or run.weights_path.is_file():  # as the result that this one replaces
            keep_weights(attempt.work / "checkpoints", stage)
        record = run_record(parts, data, stage, monitor, earlier, attempt)
        if tracked is not None:
            tracked.summary.update({"measures": record.measures, "metric": record.metric.model_dump()})
    attempt.finish(record)
    metric, value = record.metric, "undefined" if record.metric.best is None else f"{record.metric.best:.4f}"
    picked = f" (epoch {metric.best_epoch})" if metric.best_epoch >= 0 else ""
    log.info("%s: %s %s%s, in %s", run.point, metric.name, value, picked, run.folder)
    return record


def _tell(run: Run, method: "LLPMethod", data: "LLPDataModule", monitor: "Monitor") -> None:
    """Log on what a run trains, and by what its epoch is chosen."""
    from llp.data.label_unit import AS_GIVEN

    name, bags = run.point, data.train_bags
    log.info(
        "%s: %d bags, %d train and %d test instances", name, len(bags), data.n_train_instances, len(data.test_rows)
    )
    if method.trains and data.protocol == "holdout":
        log.info("%s: %s over %d held-out bags picks the epoch", name, monitor.name, len(data.held_out_bags))
    if data.unit != AS_GIVEN:
        log.info("%s: trains on (label - %g) / %g, by the train bags' sums", name, data.unit.mean, data.unit.scale)
    if data.n_left_out_bags:
        said = "%s: bags overlap: %d that share rows with held-out or test bags are not trained on where these measure"
        log.info(said, name, data.n_left_out_bags)
    if data.noise is not None or data.sums_outside:
        said = "%s: %s; %d sums of train bags are below 0 or above the size, which no labels of 0 and 1 give"
        of_report = data.train_bags.noise_variance is not None and data.train_bags.noise_variance.any()
        unsaid = "the report states its noise" if of_report else "no noise is declared"
        log.info(said, name, data.noise or unsaid, data.sums_outside)
    if data.minibatches_per_evaluation != data.minibatches_per_epoch:
        looks = data.minibatches_per_evaluation, data.minibatches_per_epoch
        log.info("%s: an evaluation every %d of an epoch's %d minibatches", name, *looks)


def _row_line(row: "Row") -> str:
    shown = {name: value for name, value in row.items() if name.startswith(("train_loss", "test_", "held_out"))}
    values = "  ".join(f"{name} {value:.4f}" for name, value in shown.items() if "thresholds" not in name)
    rate = row["instances_per_second"]
    return f"epoch {int(row['epoch']):2d}  {values}  {row['epoch_seconds']:.1f} s  {rate:,.0f} instances/s"


def _first_stage(parts: Parts) -> list[StageRecord]:
    """Run the method's first stage, or reuse the finished run that it is: its stage records."""
    earlier = parts.first_stage()
    if earlier is None:
        return []
    run = earlier.run
    record = run.finished(need_weights=True, warn=False)
    if record is not None:
        names = (FINAL,) if record.refit is None else (FINAL, CHOSEN)
        model = earlier.model()
        if not all(serves(model, run.weights_path.with_name(name)) for name in names):
            run.weights_path.unlink()
    record, reused = _run(earlier.config)
    return [stage.model_copy(update={"run": str(run.folder), "reused": reused}) for stage in record.stages]
