"""One run from its config to its result record: one point of the grid.

`run_one(config)` is a plain function: a command, a launcher's worker, a test or a notebook can call it with a
composed config. A run's folder is

    <outputs_dir>/<dataset>/<grouping key>/<method>/fold=<k>/seed=<s>/<hash>/

with `config.yaml`, `run.log`, `metrics.csv`, `checkpoints/` and `result.json`, which is written last and whole:
where it is, the run is finished. A failed run leaves `error.json`.
"""

import errno
import logging
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from omegaconf import DictConfig, OmegaConf

from llp.config.checks import check_config
from llp.config.grouping_keys import grouping_key
from llp.config.own_code import placed_errors
from llp.config.schema import Hardware
from llp.config.targets import GIVEN, check_targets
from llp.data.noise import noise_of
from llp.data.table import InstanceTable
from llp.files import locked, write_atomically
from llp.runs.attempt import error_file, log_file, next_attempt, remove_checkpoints, take_over, tidy, work_folder
from llp.runs.build import build_model, check_input, open_table, resolved
from llp.runs.identity import Run, describe, keeps_weights
from llp.runs.load import serves
from llp.runs.record import RunRecord, StageRecord
from llp.runs.start import CHOSEN, FINAL, refits, selects_by, start

if TYPE_CHECKING:  # torch and Lightning take seconds to import; a finished run is skipped without them
    from llp.data.datamodule import LLPDataModule
    from llp.methods.base import LLPMethod
    from llp.training.callbacks import Row
    from llp.training.stage import StageResult

log = logging.getLogger(__name__)


def run_one(config: DictConfig) -> RunRecord:
    """Run one point of the grid, unless it is finished; returns its result record.

    Parameters
    ----------
    config : DictConfig
        A composed `conf/train.yaml`. Nothing outside `data_dir` and `outputs_dir` is read or written.

    Raises
    ------
    InputError
        An option is wrong, or the dataset is not prepared.
    """
    return _run(config)[0]


def _run(config: DictConfig) -> tuple[RunRecord, bool]:
    """The point's record, and whether another call made it: earlier, or while this one waited."""
    check_config(config)
    # the checks go from cheap to dear: options, then the table, then what is built; none makes the run's folder
    if not (Path(config.data_dir) / config.dataset.table).exists():  # preparing it takes time
        check_targets(resolved(config, ("dataset", *GIVEN)))
    with placed_errors(config):
        table = open_table(config)
    run = Run.of(config, table)
    keep = keeps_weights(config)
    record = None if config.force else run.finished(need_weights=keep, warn=False)  # under the lock it will
    if record is not None:
        tidy(run.folder)
        log.info("%s: finished before, skipped", describe(run))
        return record, True
    check_input(config, table)
    run.folder.mkdir(parents=True, exist_ok=True)
    with locked(run.folder / ".lock", f"{describe(run)}: another process is at it"):
        # asked again: another one may have finished the run while this one waited
        record = None if config.force else run.finished(need_weights=keep)
        reused = record is not None
        if record is None:
            with log_file(run.folder / "run.log"), error_file(run.folder / "error.json"), placed_errors(config):
                record = _train(config, run, table, keep)
        else:
            log.info("%s: finished meanwhile", describe(run))
    return record, reused


def _train(config: DictConfig, run: Run, table: InstanceTable, keep: bool) -> RunRecord:
    import torch

    from llp.metrics.evaluation import main_metric
    from llp.runs.outcome import run_record
    from llp.runs.tracking import track
    from llp.training.callbacks import monitor_of
    from llp.training.stage import StageFiles, train_stage

    started, begin = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    attempt = next_attempt(run.folder)
    # beside an earlier result, which stays whole until the new one takes its place
    work = work_folder(run.folder, run.result_path, anew=config.force)
    if attempt > 1 and work == run.folder and not any((work / "checkpoints").glob("*.ckpt")):
        log.info(
            "%s: begins anew, no checkpoint was written before it was cut off (checkpoint_minutes=%s)",
            describe(run),
            config.checkpoint_minutes,
        )
    keep = keep or run.weights_path.is_file()  # as the result that this one replaces
    write_atomically(work / "config.yaml", lambda path: OmegaConf.save(OmegaConf.create(run.config), path))
    first_stages, first = _first_stage(config, table)
    torch.set_num_threads(config.trainer.threads)
    method, data = start(config, table, first, refit=False)
    select_by = selects_by(config, data)
    point = [config.dataset.name, grouping_key(config).name, config.method.name]
    metric_name, better = main_metric(method.label_kind)
    log.info(
        "%s: %d bags, %d train and %d test instances",
        describe(run),
        len(data.train_bags),
        len(data.train_bags.rows),
        len(data.test_rows),
    )
    if method.trains and config.protocol.name == "holdout":
        picking = monitor_of(method, select_by).name
        log.info("%s: %s over %d held-out bags picks the epoch", describe(run), picking, len(data.held_out_bags))
    if data.n_left_out_bags:
        said = "%s: bags overlap: %d that share rows with held-out or test bags are not trained on where these measure"
        log.info(said, describe(run), data.n_left_out_bags)
    noise = noise_of(config.get("noise"), table, grouping_key(config))
    if noise is not None or data.sums_outside:
        said = "%s: %s; %d sums of train bags are below 0 or above the size, which no labels of 0 and 1 give"
        log.info(said, describe(run), noise or "no noise is declared", data.sums_outside)
    if config.trainer.evaluate_every != 1:
        looks = data.minibatches_per_look, data.minibatches_per_epoch
        log.info("%s: a look at the model every %d of an epoch's %d minibatches", describe(run), *looks)
    with track(
        config.logger,
        folder=run.folder,
        run_id=f"{run.hash}-{attempt}",
        name="-".join([*point, f"fold{config.fold}", f"seed{config.seed}"]),
        group="-".join(point),
        tags=[*point, f"fold={config.fold}", f"seed={config.seed}", config.protocol.name],
        config=run.config,
        metric=metric_name,
        better=better,
    ) as tracker:

        def on_row(row: "Row") -> None:
            log.info("%s: %s", describe(run), _row_line(row))
            tracker.log_epoch(row)

        stage = train_stage(
            method,
            data,
            StageFiles(work / "metrics.csv", work / "checkpoints"),
            max_epochs=config.trainer.max_epochs,
            patience=config.trainer.patience,
            select_by=select_by,
            hardware=Hardware(**config.hardware),
            checkpoint_minutes=config.checkpoint_minutes,
            on_row=on_row,
            name=describe(run),
            again=(lambda: start(config, table, first, refit=True)) if refits(config) else None,
        )
        if data.test_bags is not None:
            _write_bags(work / "bags.csv", method, stage, data)
        if keep:
            _keep(work, FINAL, stage.method.model.state_dict())
            if stage.refitted is not None and method.trains:
                _keep(work, CHOSEN, stage.chosen.weights)
        record = run_record(
            config,
            run.config,
            run.hash,
            data=data,
            stage=stage,
            select_by=select_by,
            first_stages=first_stages,
            attempt=attempt,
            started=started,
            seconds=time.perf_counter() - begin,
        )
        tracker.summarize({"measures": record.measures, "metric": record.metric.model_dump()})
    if not (work / "config.yaml").is_file():
        raise FileNotFoundError(errno.ENOENT, "The run's folder was moved or removed while it trained", str(work))
    # result.json last: cut off before it, the run goes on from its checkpoint; after it, there is only to tidy up
    take_over(run.folder, work)
    record.write(run.result_path)
    remove_checkpoints(run.folder)
    if work != run.folder:
        shutil.rmtree(work)
    metric = record.metric
    log.info(
        "%s: %s %s (epoch %d)",
        describe(run),
        metric.name,
        "undefined" if metric.best is None else f"{metric.best:.4f}",
        metric.best_epoch,
    )
    return record


def _write_bags(path: Path, method: "LLPMethod", stage: "StageResult", data: "LLPDataModule") -> None:
    """Write ids and sums of the bags that measure the run: stated, predicted, and the variance of labels drawn so."""
    from llp.data.given_bags import read_bag_ids
    from llp.training.evaluation import predict_bags

    measured = stage.method
    if data.held_out_bags_measure:  # the final model has seen them
        measured = method
        if method.trains:
            method.model.load_state_dict(stage.chosen.weights)
    assert data.test_bags is not None
    assert data.test_bags.number is not None  # given bags alone measure a run
    names = ("label_sum", "predicted_sum", "variance", "size")
    ids = read_bag_ids(data.table.folder)[data.test_bags.number]
    sums = dict(zip(names, predict_bags(measured, data, data.test_bags), strict=True))
    bags = pl.DataFrame({"id": ids, **sums})
    write_atomically(path, lambda temporary: bags.write_csv(temporary))


def _keep(work: Path, name: str, weights: dict[str, Any]) -> None:
    import torch

    write_atomically(work / "checkpoints" / name, lambda path: torch.save(weights, path))


def _row_line(row: "Row") -> str:
    shown = {name: value for name, value in row.items() if name.startswith(("train_loss", "test_", "held_out"))}
    values = "  ".join(f"{name} {value:.4f}" for name, value in shown.items() if "thresholds" not in name)
    rate = row["instances_per_second"]
    return f"epoch {int(row['epoch']):2d}  {values}  {row['epoch_seconds']:.1f} s  {rate:,.0f} instances/s"


def _first_stage(config: DictConfig, table: InstanceTable) -> tuple[list[StageRecord], Path | None]:
    """Run the method's first stage, or reuse the finished run that it is: its stage records and its folder."""
    if "first_stage" not in config.method:
        return [], None
    # a run of its own with its own hash: every method that starts from it, and a user who trains it, shares it
    earlier = config.copy()
    earlier.method = config.method.first_stage
    earlier.force = False
    earlier.save_model = True
    weights = Run.of(earlier, table).weights_path
    if weights.is_file():
        model, names = build_model(earlier, table), (FINAL, CHOSEN) if refits(config) else (FINAL,)
        if not all(serves(model, weights.with_name(name)) for name in names):
            weights.unlink()
    record, reused = _run(earlier)
    folder = Run.of(earlier, table).folder
    return [stage.model_copy(update={"run": str(folder), "reused": reused}) for stage in record.stages], folder
