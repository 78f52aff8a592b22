"""Run folders as `llp.runs.run` leaves them, without training anything."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from llp.runs.book import AskedCell, AskedGrid, write_asked
from llp.runs.point import Point
from llp.runs.record import FailureRecord, MetricRecord, RunRecord, StageRecord


def stage(**changes: Any) -> StageRecord:
    """A stage of four epochs."""
    fields = {"method": "dllp_bce", "epochs": 4, "early_stopped": True, "seconds": 2.0, "instances_per_second": 1e6}
    return StageRecord(**fields | changes)


def record(metric: str, best: float | None, /, *, config: dict[str, Any] | None = None, **changes: Any) -> RunRecord:
    """A finished run's record; `changes` replaces fields, `config` is merged into the groups of its configuration."""
    held_out, best_epoch = changes.pop("held_out", None), changes.pop("best_epoch", 2)
    picked_by = changes.pop("picked_by", None)
    point = {"dataset": "flights", "grouping_key": "month_dest", "method": "dllp_bce", "model": "mlp"}
    point |= {"protocol": "paper", "fold": 0, "seed": 0}
    point |= {name: changes.pop(name) for name in point if name in changes}
    kind = point["grouping_key"].split("_")[0]
    kind = kind if kind in ("random", "fixed", "prior", "given") else "feature"
    fields = {
        "label_kind": "binary" if metric == "auc" else "real",
        "bag_kind": kind,
        "bag_size": None if kind in ("feature", "given") else int(point["grouping_key"].split("_")[-1]),
        "config": config_of(point, kind, **(config or {})),
        "config_hash": "0123abcd",
        "table": "6480d87da68555dd",
        "metric": MetricRecord(
            name=metric,
            mode="max" if metric == "auc" else "min",
            best=best,
            best_epoch=best_epoch,
            last=best,
            untrained=0.5,
            held_out=held_out,
            picked_by=picked_by,
        ),
        "measures": {metric: best, "log_loss": 0.6},
        "stages": [stage()],
        "n_train_bags": 834,
        "n_train_instances": 256558,
        "n_test_instances": 64140,
        "instance_labels": point["method"].startswith("instance"),
        "versions": {"python": "3.11.7"},
        "device": "x86_64",
        "git_commit": None,
        "attempt": 1,
        "started": "2030-01-01T00:00:00+00:00",
        "seconds": 2.5,
    }
    return RunRecord(**point | fields | changes)


def config_of(point: dict[str, Any], kind: str, **changes: Any) -> dict[str, Any]:
    """The configuration that belongs to a record; `changes` are merged into its groups."""
    config: dict[str, Any] = {
        "dataset": {"name": point["dataset"], "learning_rate": 0.001},
        "grouping_key": {"kind": kind, "columns": point["grouping_key"].split("_"), "bag_size": None},
        "method": {"_target_": "llp.methods.dllp.DLLP", "name": point["method"]},
        "model": {"_target_": "llp.models.mlp.MLP", "name": point["model"], "hidden": [128, 64]},
        "optimizer": {"lr": 0.001},
        "protocol": {"name": point["protocol"]},
        "fold": point["fold"],
        "seed": point["seed"],
    }
    for group, values in changes.items():
        config[group] = {**config.get(group, {}), **values}
    return config


def run_folder(outputs_dir: Path, content: RunRecord) -> Path:
    """A record's folder."""
    point = (content.dataset, content.grouping_key, content.method, f"fold={content.fold}", f"seed={content.seed}")
    return outputs_dir.joinpath(*point, content.config_hash)


def write_run(outputs_dir: Path, best: float | None, *, metric: str = "auc", **changes: Any) -> Path:
    """Write a finished run; returns its folder."""
    content = record(metric, best, **changes)
    folder = run_folder(outputs_dir, content)
    content.write(folder / "result.json")
    (folder / "attempt").write_text("1")
    return folder


def write_folds(outputs_dir: Path, values: list[float], **changes: Any) -> None:
    """Write one finished run per fold."""
    for fold, value in enumerate(values):
        write_run(outputs_dir, value, fold=fold, **changes)


def ask_for(outputs_dir: Path, experiment: str | None, points: Iterable[Point]) -> None:
    """Leave the record of a grid that was started before its tables were there."""
    cells = tuple(
        AskedCell(dataset=point.dataset, grouping_key=point.grouping_key, method=point.method, runs=(point[3:],))
        for point in points
    )
    write_asked(outputs_dir, AskedGrid(experiment=experiment, cells=cells))


def write_failure(outputs_dir: Path, error: str, kind: str = "OSError", **changes: Any) -> Path:
    """Write what a run leaves that failed; returns its folder."""
    folder = run_folder(outputs_dir, record("auc", 0.5, **changes))
    FailureRecord(error=error, type=kind, traceback="").write(folder / "error.json")
    return folder
