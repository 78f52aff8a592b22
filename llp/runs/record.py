"""What a finished run leaves in `result.json`."""

import importlib.metadata
import platform
import subprocess
from pathlib import Path

import torch
from omegaconf import DictConfig

from llp.config.grouping_keys import grouping_key
from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod
from llp.metrics.evaluation import main_metric
from llp.runs.run import RESULT_SCHEMA, Record, Run
from llp.training.stage import StageResult

VERSIONS = ("llp-bench", "torch", "lightning", "hydra-core", "numpy", "polars", "scikit-learn")


def result_record(
    config: DictConfig,
    run: Run,
    *,
    method: LLPMethod,
    data: LLPDataModule,
    stage: StageResult,
    first_stage: list[Record],
) -> Record:
    """Describe a finished run: which point it is, what it reached, how it got there and with what.

    Parameters
    ----------
    config : DictConfig
        The composed config.
    run : Run
        The run's place.
    method, data, stage
        What was trained, on what, and what it came to.
    first_stage : list of dict
        The stages that came before, from the run that trained them.
    """
    name, mode = main_metric(method.label_kind)
    return {
        "schema": RESULT_SCHEMA,
        "dataset": config.dataset.name,
        "label_kind": method.label_kind,
        "grouping_key": grouping_key(config).name,
        "method": config.method.name,
        "model": config.model.name,
        "protocol": config.protocol.name,
        "fold": config.fold,
        "seed": config.seed,
        "config_hash": run.hash,
        "table": data.table.fingerprint,
        "metric": {
            "name": name,
            "mode": mode,
            "best": stage.measures[name],
            "best_epoch": stage.best_epoch,
            "last": stage.rows[-1].get(f"test_{name}") if stage.rows else None,
            "untrained": stage.untrained,
        },
        "measures": stage.measures,
        "stages": [*first_stage, _stage_summary(config, stage)],
        "n_train_bags": len(data.train_bags),
        "n_train_instances": len(data.train_bags.rows),
        "n_test_instances": len(data.test_rows),
        "instance_labels": method.sees_instance_labels,
        **_provenance(stage),
    }


def _stage_summary(config: DictConfig, stage: "StageResult") -> Record:
    rates = [row["instances_per_second"] for row in stage.rows]
    return {
        "method": config.method.name,
        "epochs": len(stage.rows),
        "early_stopped": stage.early_stopped,
        "seconds": stage.seconds,
        "instances_per_second": sum(rates) / len(rates) if rates else None,
        "run": None,
        "reused": False,
    }


def _provenance(stage: "StageResult") -> Record:
    cuda = stage.device.type == "cuda"
    return {
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in VERSIONS}},
        "device": torch.cuda.get_device_name(stage.device) if cuda else platform.processor() or platform.machine(),
        "git_commit": _git_commit(),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git_commit() -> str | None:
    """The checkout's commit; None for an installed package."""
    here = Path(__file__).resolve().parents[1]
    if not (here.parent / ".git").exists():
        return None
    answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None
