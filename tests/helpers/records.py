"""Run folders as `llp.runs.run` leaves them, without training anything."""

import json
from pathlib import Path
from typing import Any

import yaml


def record(metric: str, best: float, **changes: Any) -> dict[str, Any]:
    """The fields of a result.json; `changes` replaces some."""
    mode = "max" if metric == "auc" else "min"
    stage = {"method": "dllp_bce", "epochs": 4, "early_stopped": True, "seconds": 2.0}
    return {
        "schema": 1,
        "dataset": "flights",
        "label_kind": "binary" if metric == "auc" else "real",
        "grouping_key": "month_dest",
        "method": "dllp_bce",
        "model": "mlp",
        "protocol": "paper",
        "fold": 0,
        "seed": 0,
        "config_hash": "0123abcd",
        "table": "6480d87da68555dd",
        "metric": {"name": metric, "mode": mode, "best": best, "best_epoch": 2, "last": best, "untrained": 0.5},
        "measures": {metric: best, "log_loss": 0.6},
        "stages": [{**stage, "instances_per_second": 1e6, "run": None, "reused": False}],
        "n_train_bags": 834,
        "n_train_instances": 256558,
        "n_test_instances": 64140,
        "versions": {"python": "3.11.7"},
        "device": "x86_64",
        "git_commit": None,
        "attempt": 1,
        "started": "2030-01-01T00:00:00+00:00",
        "seconds": 2.5,
        "instance_labels": changes.get("method", "").startswith("instance"),
    } | changes


def config_of(content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The config.yaml that belongs to a record; `changes` are merged into its groups."""
    kind = "random" if content["grouping_key"].startswith("random") else "feature"
    config: dict[str, Any] = {
        "dataset": {"name": content["dataset"], "learning_rate": 0.001},
        "grouping_key": {"kind": kind, "columns": content["grouping_key"].split("_"), "bag_size": None},
        "method": {"_target_": "llp.methods.dllp.DLLP", "name": content["method"]},
        "model": {"_target_": "llp.models.mlp.MLP", "name": content["model"], "hidden": [128, 64]},
        "optimizer": {"lr": 0.001},
        "protocol": {"name": content["protocol"]},
        "fold": content["fold"],
        "seed": content["seed"],
    }
    for group, values in changes.items():
        config[group] = {**config[group], **values}
    return config


def run_folder(outputs_dir: Path, content: dict[str, Any]) -> Path:
    """A record's folder."""
    point = [content[name] for name in ("dataset", "grouping_key", "method")]
    return outputs_dir.joinpath(*point, f"fold={content['fold']}", f"seed={content['seed']}", content["config_hash"])


def write_run(
    outputs_dir: Path, best: float, *, metric: str = "auc", config: dict[str, Any] | None = None, **changes: Any
) -> Path:
    """Write a finished run; returns its folder."""
    content = record(metric, best, **changes)
    folder = run_folder(outputs_dir, content)
    folder.mkdir(parents=True)
    (folder / "attempt").write_text("1")
    (folder / "config.yaml").write_text(yaml.safe_dump(config_of(content, **(config or {})), sort_keys=False))
    (folder / "result.json").write_text(json.dumps(content))
    return folder


def write_folds(outputs_dir: Path, values: list[float], **changes: Any) -> None:
    """Write one finished run per fold."""
    for fold, value in enumerate(values):
        write_run(outputs_dir, value, fold=fold, **changes)
