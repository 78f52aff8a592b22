"""Finished, failed and cut-off runs of an outputs folder as a data frame; records that cannot be used are named."""

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from llp.runs.book import FOLDER as GRIDS
from llp.runs.book import PointState, RunState, read_asked, state_of
from llp.runs.point import Point
from llp.runs.record import RecordError, RunRecord

# folders inside a run's folder that hold no runs
_NOT_RUNS = frozenset({"checkpoints", "wandb"})

Config = dict[str, str]


def _setting(record: RunRecord, group: str, name: str, before: float | str) -> float | str:
    """A setting of a run, of the type of `before`: that in records of before there was one, or with anything else."""
    options: Any = record.config.get(group)
    value: Any = options.get(name) if isinstance(options, dict) else None
    fits = (str,) if isinstance(before, str) else (int, float)
    return value if type(value) in fits else before


# the columns of `Collected.runs` that every run has, and what they are of its record
RUN_COLUMNS: dict[str, tuple[Any, Callable[[RunRecord], Any]]] = {
    **{
        name: (pl.String, attrgetter(name))
        for name in ("dataset", "label_kind", "grouping_key", "bag_kind", "method", "model", "protocol", "config_hash")
    },
    "fold": (pl.Int64, attrgetter("fold")),
    "seed": (pl.Int64, attrgetter("seed")),
    "bag_size": (pl.Int64, attrgetter("bag_size")),  # of random and fixed-size bags
    "metric": (pl.String, attrgetter("metric.name")),  # the run's own metric, auc or mse
    "mode": (pl.String, attrgetter("metric.mode")),  # max | min
    "best": (pl.Float64, attrgetter("metric.best")),  # at the chosen epoch; null where undefined
    "best_epoch": (pl.Int64, attrgetter("metric.best_epoch")),
    "held_out": (pl.Float64, attrgetter("metric.held_out")),  # what picked the epoch; null under protocol=paper
    "picked_by": (pl.String, attrgetter("metric.picked_by")),  # its name; null in records of before it was kept
    "untrained": (pl.Float64, attrgetter("metric.untrained")),  # before the last stage
    "epochs": (pl.Int64, lambda record: record.stages[-1].epochs),
    "first_stage_epochs": (pl.Int64, lambda record: sum(stage.epochs for stage in record.stages[:-1])),
    "n_train_instances": (pl.Int64, attrgetter("n_train_instances")),
    "n_test_instances": (pl.Int64, attrgetter("n_test_instances")),
    "early_stopped": (pl.Boolean, lambda record: record.stages[-1].early_stopped),
    # epochs between the evaluations that `best_epoch` counts
    "evaluate_every": (pl.Float64, lambda record: float(_setting(record, "trainer", "evaluate_every", 1.0))),
    "seconds": (pl.Float64, lambda record: record.stages[-1].seconds),
    # whose folds they are: published ones, or by_seed, where each seed is a repeat
    "folds": (pl.String, lambda record: _setting(record, "protocol", "folds", "published")),
    "start": (pl.String, lambda record: _setting(record, "protocol", "start", "authors")),  # where scores start
    "instance_labels": (pl.Boolean, attrgetter("instance_labels")),  # the method trained on instance labels
}


class GridPoints(NamedTuple):
    """Points that a multirun asked for, with its name and the experiment that it is of, if any."""

    name: str
    experiment: str | None
    points: frozenset[Point]


@dataclass(frozen=True)
class Collected:
    """Contents of an outputs folder."""

    runs: pl.DataFrame  # a row per finished run: `RUN_COLUMNS`, `measures.<name>`, its number in `configs`, `folder`
    configs: list[Config] = field(default_factory=list)  # path to value of all but fold and seed; each once
    left: list[PointState] = field(default_factory=list)  # runs that were started and are not finished
    grids: list[GridPoints] = field(default_factory=list)  # what was asked for
    problems: list[str] = field(default_factory=list)  # records that were left out, and why

    def only(self, keep: Callable[[Point], bool]) -> "Collected":
        """The runs and the points that grids asked for of which `keep` is true."""
        kept = [keep(Point(*row)) for row in self.runs.select(*Point._fields).iter_rows()]
        grids = [grid._replace(points=frozenset(filter(keep, grid.points))) for grid in self.grids]
        left = [one for one in self.left if keep(one.point)]
        return replace(self, runs=self.runs.filter(pl.Series(kept, dtype=pl.Boolean)), left=left, grids=grids)

    @property
    def failed(self) -> list[PointState]:
        """Runs that ended with an error."""
        return [one for one in self.left if one.state == RunState.FAILED]


def collect(outputs_dir: Path) -> Collected:
    """Read every run below a folder of outputs; a missing folder holds none."""
    found: list[tuple[RunRecord, Path]] = []
    left: list[PointState] = []
    problems: list[str] = []
    for folder, files in _folders(outputs_dir, problems):
        if "result.json" in files:
            try:
                found.append((RunRecord.read(folder / "result.json"), folder))
            except RecordError as error:
                problems.append(str(error))
        elif (point := Point.of(folder)) is not None and files & {"error.json", "attempt"}:
            one = state_of(point, folder)
            if one.record is not None:  # it has finished meanwhile
                found.append((one.record, folder))
            else:
                left.append(one)
    asked, unreadable = read_asked(outputs_dir)
    grids = [GridPoints(grid.name, grid.experiment, grid.points()) for grid in asked]
    finished = collect_records(found)
    problems += [*finished.problems, *unreadable]
    return Collected(finished.runs, finished.configs, left, grids, problems)


def collect_records(records: Iterable[tuple[RunRecord, Path]]) -> Collected:
    """Collect finished runs whose records are at hand, each with its folder."""
    rows: dict[tuple[int, int, int], dict[str, Any]] = {}
    numbers: dict[frozenset[tuple[str, str]], int] = {}
    problems = []
    for record, folder in records:
        settings = {name: value for name, value in record.config.items() if name not in ("fold", "seed")}
        config = numbers.setdefault(frozenset(_leaves({**settings, "table": record.table}, "")), len(numbers))
        row = {name: of(record) for name, (_, of) in RUN_COLUMNS.items()} | {"config": config, "folder": str(folder)}
        row |= {f"measures.{name}": value for name, value in record.measures.items()}
        known = rows.setdefault((config, record.fold, record.seed), row)
        if known is not row:
            problems.append(f"{folder}/result.json is the same run as {known['folder']}/result.json")
    measures = sorted({name for row in rows.values() for name in row if name.startswith("measures.")})
    schema = {name: dtype for name, (dtype, _) in RUN_COLUMNS.items()} | dict.fromkeys(measures, pl.Float64)
    frame = pl.DataFrame(list(rows.values()), schema={**schema, "config": pl.Int64, "folder": pl.String})
    return Collected(frame, [dict(one) for one in numbers], problems=problems)


def fingerprint(outputs_dir: Path) -> int:
    """A number that changes when a run ends, fails or is started, a grid is asked for, or an analysis is written."""
    names = {"result.json", "error.json", "attempt", "analysis.parquet"}
    found = sorted(
        (str(folder), name, (folder / name).stat().st_mtime_ns)
        for folder, files in _folders(outputs_dir, [])
        for name in (files if folder == outputs_dir / GRIDS else files & names)
        if (folder / name).exists()
    )
    return hash(tuple(found))


def _folders(outputs_dir: Path, problems: list[str]) -> Iterator[tuple[Path, set[str]]]:
    def unreadable(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            problems.append(f"{error.filename} cannot be read: {error.strerror}")

    for folder, below, files in os.walk(outputs_dir, onerror=unreadable):
        below[:] = sorted(name for name in below if name not in _NOT_RUNS)
        yield Path(folder), set(files)


def _leaves(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Dotted paths and their values, written as on a command line."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _leaves(value, f"{path}.{name}" if path else name)
    else:
        yield path, node if isinstance(node, str) else json.dumps(node).replace('"', "").replace(" ", "")


def read_curve(folder: Path, metric: str) -> list[float]:
    """The test metric of each evaluation, NaN where it is undefined; empty where there is no curve that can be read."""
    return read_columns(folder, [f"test_{metric}"])[f"test_{metric}"]


def unit(evaluate_every: Iterable[float]) -> str:
    """Unit of a curve's steps, by the epochs between two evaluations.

    >>> unit([1.0, 1.0]), unit([0.25]), unit([0.25, 1.0])
    ('epoch', 'evaluation, every 0.25 epochs', 'evaluation')
    """
    apart = set(evaluate_every)
    if apart == {1.0}:
        return "epoch"
    return "evaluation" + (f", every {apart.pop():g} epochs" if len(apart) == 1 else "")


def read_columns(folder: Path, names: Sequence[str]) -> dict[str, list[float]]:
    """Columns of a curve; NaN where a value is not finite or there is no such column; empty without a curve to read."""
    try:
        with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
            found = {name: [float(row.get(name) or math.nan) for row in rows] for name in names}
            return {name: [one if math.isfinite(one) else math.nan for one in own] for name, own in found.items()}
    except (OSError, ValueError, csv.Error):
        return {name: [] for name in names}
