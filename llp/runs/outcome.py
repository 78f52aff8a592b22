"""What a run that has just been trained leaves: its bags' sums, its weights and its record."""

import importlib.metadata
import platform
import subprocess
from functools import partial
from pathlib import Path

import polars as pl
import torch
from torch import Tensor

from llp.data.datamodule import LLPDataModule
from llp.data.given_bags import read_bag_ids
from llp.data.noise import Promise
from llp.files import write_atomically
from llp.metrics.evaluation import MAIN, MAIN_OF_BAGS
from llp.runs.attempt import Attempt
from llp.runs.build import Parts
from llp.runs.load import CHOSEN, FINAL
from llp.runs.record import MetricRecord, RefitRecord, RunRecord, StageRecord
from llp.training.selection import Monitor
from llp.training.stage import StageResult

VERSIONS = ("llp-bench", "torch", "lightning", "hydra-core", "numpy", "polars", "scikit-learn")


def write_bags(path: Path, sums: Tensor, data: LLPDataModule) -> None:
    """Write ids and sums (4, K) of the bags that measure the run: see `llp.training.evaluation.predict_bags`."""
    assert data.test_bags is not None
    assert data.test_bags.number is not None  # given bags alone measure a run
    names = ("label_sum", "predicted_sum", "variance", "size")
    ids = read_bag_ids(data.table.folder)[data.test_bags.number]
    bags = pl.DataFrame({"id": ids, **dict(zip(names, sums.numpy(), strict=True))})
    write_atomically(path, bags.write_csv)


def keep_weights(folder: Path, stage: StageResult) -> None:
    """Keep the final model's weights; where it was trained again, those of the chosen epoch beside them."""
    kept = {FINAL: stage.method.model.state_dict()}
    if stage.refitted is not None and (stage.method.trains or stage.method.solves):
        kept[CHOSEN] = stage.chosen.weights
    for name, weights in kept.items():
        write_atomically(folder / name, partial(torch.save, weights))


def run_record(
    parts: Parts,
    data: LLPDataModule,
    stage: StageResult,
    monitor: Monitor,
    first_stages: list[StageRecord],
    attempt: Attempt,
) -> RunRecord:
    """Describe a finished run; `first_stages` are of the run that trained them."""
    config, run = parts.config, parts.run
    method = stage.method
    key, chosen = config.grouping_key, stage.chosen
    flipped = data.noise is not None and data.noise.flips
    on_gpu = stage.device.type == "cuda"
    name, mode = (MAIN if stage.sums is None else MAIN_OF_BAGS)[method.label_kind]
    rates = [row["instances_per_second"] for row in chosen.rows]
    trained = StageRecord(
        method=config.method.name,
        epochs=len(chosen.rows),
        early_stopped=chosen.early_stopped,
        seconds=stage.seconds,
        instances_per_second=sum(rates) / len(rates) if rates else None,
    )
    return RunRecord(
        dataset=config.dataset.name,
        label_kind=method.label_kind,
        grouping_key=key.name,
        bag_kind=key.kind,
        bag_size=key.options.get("bag_size"),
        method=config.method.name,
        model=config.model.name,
        protocol=config.protocol.name,
        fold=config.fold,
        seed=config.seed,
        config=run.config,
        config_hash=run.hash,
        table=data.table.fingerprint,
        metric=MetricRecord(
            name=name,
            mode=mode,
            best=stage.measures[name],
            best_epoch=chosen.epoch,
            last=chosen.rows[-1].get(f"test_{name}") if chosen.rows else None,
            untrained=chosen.untrained,
            held_out=chosen.held_out,
            picked_by=monitor.name if method.trains else None,
        ),
        refit=None if stage.refitted is None else RefitRecord(**stage.refitted._asdict()),
        measures=stage.measures,
        stages=[*first_stages, trained],
        n_train_bags=len(data.train_bags),
        n_held_out_bags=len(data.held_out_bags),
        n_left_out_bags=data.n_left_out_bags,
        noise=None if data.noise is None else Promise.of(data.noise, data.train_bags, data.sums_outside),
        facts=method.facts,
        n_train_instances=data.n_train_instances,
        n_test_instances=len(data.test_rows),
        instance_labels=method.sees_instance_labels and not (method.own_labels or flipped),
        versions={"python": platform.python_version(), **{name: _version(name) for name in VERSIONS}},
        device=torch.cuda.get_device_name(stage.device) if on_gpu else platform.processor() or platform.machine(),
        git_commit=_git_commit(),
        attempt=attempt.number,
        started=attempt.started,
        seconds=attempt.seconds,
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git_commit() -> str | None:
    """The checkout's commit; None for an installed package."""
    package = Path(__file__).resolve().parents[1]
    if not (package.parent / ".git").exists():
        return None
    answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=package, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None
