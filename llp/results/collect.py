"""Finished, failed and cut-off runs of an outputs folder, as a data frame.

A record that cannot be read, or is not one of ours, is named and left out: one bad file never hides the others.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from llp.runs.run import RESULT_SCHEMA

# folders inside a run's folder that hold no runs
_NOT_RUNS = frozenset({"checkpoints", "wandb"})

RUN_COLUMNS = {
    "dataset": pl.String,
    "grouping_key": pl.String,
    "method": pl.String,
    "model": pl.String,
    "protocol": pl.String,
    "fold": pl.Int64,
    "seed": pl.Int64,
    "metric": pl.String,  # the run's own metric, auc or mse
    "mode": pl.String,  # max | min
    "best": pl.Float64,  # at the chosen epoch
    "best_epoch": pl.Int64,
    "untrained": pl.Float64,  # before the last stage
    "epochs": pl.Int64,  # of the last stage
    "first_stage_epochs": pl.Int64,  # of the stages before it
    "early_stopped": pl.Boolean,
    "seconds": pl.Float64,
    "instance_labels": pl.Boolean,  # the method trained on instance labels
    "measures": pl.String,  # JSON: name to value
    "config": pl.String,  # JSON: path to value, of all that makes the run but fold and seed
    "folder": pl.String,
}


@dataclass(frozen=True)
class Failure:
    """A failed run: its point as (dataset, grouping key, method, ...), its folder, and why it failed."""

    point: tuple[str, ...]
    folder: Path
    reason: str


@dataclass(frozen=True)
class Collected:
    """What an outputs folder holds.

    Attributes
    ----------
    runs : pl.DataFrame
        One row per finished run, columns `RUN_COLUMNS`.
    failed : list of Failure
        Runs that ended with an error.
    unfinished : list of tuple of str
        Points that are running or were cut off.
    problems : list of str
        Records that were left out, and why.
    """

    runs: pl.DataFrame
    failed: list[Failure]
    unfinished: list[tuple[str, ...]]
    problems: list[str]


class _UnfitRecordError(Exception):
    """A record that is left out; says why."""


def collect(outputs_dir: Path) -> Collected:
    """Read every run below a folder.

    Parameters
    ----------
    outputs_dir : Path
        The `outputs_dir` of the runs; a missing folder holds none.
    """
    rows: dict[tuple[str, int, int], dict[str, Any]] = {}
    failed, unfinished, problems = [], [], []
    for folder, files in _folders(outputs_dir):
        point = folder.relative_to(outputs_dir).parts[:-1]
        if "result.json" in files:
            try:
                row = _read_run(folder)
                known = rows.setdefault((row["config"], row["fold"], row["seed"]), row)
                if known is not row:
                    raise _UnfitRecordError(f"is the same run as {known['folder']}/result.json")
            except _UnfitRecordError as error:
                problems.append(f"{folder / 'result.json'} {error}")
        elif "error.json" in files:
            failed.append(Failure(point, folder, _reason(folder / "error.json")))
        elif "attempt" in files:
            unfinished.append(point)
    return Collected(pl.DataFrame(list(rows.values()), schema=RUN_COLUMNS), failed, unfinished, problems)


def _folders(outputs_dir: Path) -> Iterator[tuple[Path, set[str]]]:
    for folder, below, files in os.walk(outputs_dir):
        below[:] = sorted(name for name in below if name not in _NOT_RUNS)
        yield Path(folder), set(files)


def _reason(path: Path) -> str:
    """First line of what a failed run says about itself."""
    try:
        content = json.loads(path.read_text())
        lines = str(content["error"]).strip().splitlines()
        return f"{content['type']}: {lines[0] if lines else 'no message'}"
    except (OSError, ValueError, KeyError, TypeError):
        return "its error.json cannot be read; see run.log beside it"


def _read_run(folder: Path) -> dict[str, Any]:
    try:
        record = json.loads((folder / "result.json").read_text())
    except (OSError, ValueError) as error:
        raise _UnfitRecordError(f"cannot be read ({error})") from None
    schema = _value(record, "schema", int)
    if schema != RESULT_SCHEMA:
        raise _UnfitRecordError(f"has schema {schema}, this version reads schema {RESULT_SCHEMA}")
    *earlier, stage = _stages(record)
    config = {**_config(folder / "config.yaml"), "table": _value(record, "table", str)}
    measures = {name: _number(record, f"measures.{name}") for name in _value(record, "measures", dict)}
    return {
        **{name: _value(record, name, str) for name in ("dataset", "grouping_key", "method", "model", "protocol")},
        "fold": _whole(record, "fold"),
        "seed": _whole(record, "seed"),
        "metric": _value(record, "metric.name", str),
        "mode": _value(record, "metric.mode", str),
        "best": _number(record, "metric.best"),
        "best_epoch": _value(record, "metric.best_epoch", int),
        "untrained": _number(record, "metric.untrained", missing=float("nan")),  # under protocol=holdout
        "epochs": _value(stage, "epochs", int),
        "first_stage_epochs": sum(_value(one, "epochs", int) for one in earlier),
        "early_stopped": _value(stage, "early_stopped", bool),
        "seconds": _number(stage, "seconds"),
        "instance_labels": _value(record, "instance_labels", bool),
        "measures": json.dumps(measures),
        "config": json.dumps(config, sort_keys=True),
        "folder": str(folder),
    }


def _value(record: Any, path: str, kind: type) -> Any:
    """The value at a dotted path, if it is of that kind."""
    value = record
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            raise _UnfitRecordError(f"is no result record: it has no {path}")
        value = value[name]
    if not isinstance(value, kind):
        raise _UnfitRecordError(f"is no result record: {path} is {value!r}")
    return value


def _whole(record: Any, path: str) -> int:
    value: int = _value(record, path, int)
    if value.bit_length() > 63:  # more than a data frame holds
        raise _UnfitRecordError(f"is no result record: {path} is {value}")
    return value


def _number(record: Any, path: str, missing: float | None = None) -> float:
    value = _value(record, path, object)
    if value is None and missing is not None:
        return missing
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _UnfitRecordError(f"is no result record: {path} is {value!r}")
    return float(value)


def _stages(record: Any) -> list[Any]:
    stages: list[Any] = _value(record, "stages", list)
    if not stages:
        raise _UnfitRecordError("is no result record: stages is empty")
    return stages


def _config(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text().splitlines()
    except (OSError, ValueError):
        raise _UnfitRecordError(
            "has no readable config.yaml beside it, so nobody can tell what it is a run of"
        ) from None
    return _flat_config("\n".join(line for line in lines if not line.startswith(("fold:", "seed:"))))


@cache  # the folds and seeds of a point share a text, and parsing YAML is the slow part
def _flat_config(text: str) -> dict[str, str]:
    import yaml  # type: ignore[import-untyped]

    try:
        plain = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        plain = None
    if not isinstance(plain, dict):
        raise _UnfitRecordError("has a config.yaml beside it that is no configuration")
    return dict(_leaves(plain, ""))


def _leaves(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Dotted paths and their values, written as on a command line."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _leaves(value, f"{path}.{name}" if path else str(name))
    else:
        yield path, node if isinstance(node, str) else json.dumps(node, default=str).replace('"', "").replace(" ", "")
