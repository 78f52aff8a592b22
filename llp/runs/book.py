"""The book of grids: what was asked for, in `<outputs_dir>/grids/`, and what became of each point, by its folder."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from llp.config.grouping_keys import options
from llp.errors import InputError, choice, nearest
from llp.files import folder_name, is_locked, is_whole, write_atomically
from llp.runs.point import Point
from llp.runs.record import FailureRecord, RecordError, RunRecord

FOLDER = "grids"
_LARGEST = 100_000_000  # bytes: no grid that can be trained has so long a record


class RunState(StrEnum):
    """State of a point."""

    DONE = "done"
    RUNNING = "running"
    CUT_OFF = "cut off"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True)
class PointState:
    """A point and its state."""

    point: Point
    state: RunState
    folder: Path | None  # the run's, where it is known
    record: RunRecord | None = None  # of a point that is done
    reason: str | None = None  # why it failed, why its record cannot be used, or why it cannot run


def finished_record(folder: Path, *, needs_weights: bool) -> RunRecord | None:
    """The record that finishes a folder's run; None without it or the weights needed; RecordError if damaged."""
    result = folder / "result.json"
    if not result.is_file() or (needs_weights and not is_whole(folder / "checkpoints" / "best.pt")):
        return None
    return RunRecord.read(result)


def state_of(point: Point, folder: Path, *, needs_weights: bool = False) -> PointState:
    """State of a point, by its run's folder; with a record that cannot be used it is missing, with the reason."""
    problem = None
    try:
        record = finished_record(folder, needs_weights=needs_weights)
        if record is not None:
            return PointState(point, RunState.DONE, folder, record)
    except RecordError as error:
        problem = str(error)
    if is_locked(folder / ".lock"):
        return PointState(point, RunState.RUNNING, folder)
    if (folder / "error.json").exists():
        return PointState(point, RunState.FAILED, folder, reason=_failure(folder / "error.json"))
    begun = (folder / "attempt").is_file() and not (folder / "result.json").is_file()
    return PointState(point, RunState.CUT_OFF if begun else RunState.MISSING, folder, reason=problem)


def _failure(path: Path) -> str:
    try:
        return FailureRecord.read(path).reason
    except RecordError:
        return "its error.json cannot be read; see its run.log"


def folder_states(outputs_dir: Path) -> list[PointState]:
    """State of each run of a folder that was started."""
    found = ((Point.of(folder), folder) for folder in sorted(outputs_dir.glob("*/*/*/fold=*/seed=*/*")))
    states = (state_of(point, folder) for point, folder in found if point is not None)
    return [state for state in states if state.state != RunState.MISSING or state.reason]


class AskedRun(NamedTuple):
    """A run of a cell that was asked for."""

    fold: NonNegativeInt
    seed: NonNegativeInt
    hash: Annotated[str, Field(pattern=r"^([0-9a-f]{8})?$")] = ""  # none where the table was not there


class AskedCell(BaseModel):
    """The runs of a grid that differ in fold and seed alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    grouping_key: str
    method: str
    runs: tuple[AskedRun, ...]
    keeps_weights: bool = False

    def point(self, run: AskedRun) -> Point:
        """The point of a run."""
        return Point(self.dataset, self.grouping_key, self.method, run.fold, run.seed)

    def state(self, run: AskedRun, outputs_dir: Path) -> PointState:
        """State of a run whose hash is known."""
        point = self.point(run)
        return state_of(point, point.folder(outputs_dir) / run.hash, needs_weights=self.keeps_weights)


class AskedGrid(BaseModel):
    """A grid: the experiment that it is of, if any, and the runs of all its starts."""

    model_config = ConfigDict(frozen=True)  # of earlier versions it has more

    experiment: str | None
    cells: tuple[AskedCell, ...]

    def points(self) -> frozenset[Point]:
        """Its points."""
        return frozenset(cell.point(run) for cell in self.cells for run in cell.runs)

    def states(self, outputs_dir: Path) -> list[PointState]:
        """State of each run; those of unknown hashes have the other folders of their points, finished ones first."""
        runs = [(cell, run) for cell in self.cells for run in cell.runs]
        named = {cell.point(run).folder(outputs_dir) / run.hash for cell, run in runs}
        others: dict[Point, list[PointState]] = {}
        found = []
        for cell, run in runs:
            point = cell.point(run)
            if run.hash:
                found.append(cell.state(run, outputs_dir))
                continue
            if point not in others:
                there = set(point.folder(outputs_dir).glob("[!.]*")) - named
                states = [cell.state(run._replace(hash=folder.name), outputs_dir) for folder in sorted(there)]
                others[point] = sorted(states, key=lambda one: one.state == RunState.DONE)
            begun = (outputs_dir / folder_name(point.dataset)).exists()
            reason = None if begun else f"dataset {point.dataset} was not prepared when the grid was started"
            missing = PointState(point, RunState.MISSING, None, reason=reason)
            found.append(others[point].pop() if others[point] else missing)
        return found

    @property
    def name(self) -> str:
        """Its experiment, or 'grid', and a digest of its points."""
        runs: dict[tuple[str, ...], list[tuple[int, ...]]] = defaultdict(list)
        for point in sorted(self.points()):
            runs[point[:3]].append(point[3:])
        cells = [dict(zip((*Point._fields[:3], "runs"), (*cell, runs[cell]), strict=True)) for cell in runs]
        text = json.dumps({"cells": cells, "experiment": self.experiment}, sort_keys=True)
        return f"{self.experiment or 'grid'}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def write_asked(outputs_dir: Path, grid: AskedGrid) -> Path:
    """Leave the record of a grid below the folder of its runs, with the runs of earlier starts under other settings."""
    path = outputs_dir / FOLDER / f"{folder_name(grid.name)}.json"
    try:
        before = _read(path).cells
    except (OSError, InputError):
        before = ()
    known = [cell for cell in before if all(run.hash for run in cell.runs)]
    text = grid.model_copy(update={"cells": tuple(dict.fromkeys([*known, *grid.cells]))}).model_dump_json()
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path


def check_started(experiment: str, started: Iterable[str | None]) -> None:
    """Refuse an experiment of which no grid was started."""
    there = sorted({name for name in started if name})
    if experiment not in there:
        expected = f"{choice(there)}, whose grids were started" if there else "one whose grid was started"
        remedy = f"start it: python -m llp.train -m experiment={experiment}"
        if experiment not in (known := options("experiment")):
            remedy = f"llp itself has none of this name, the nearest is {nearest(experiment, known)}"
        raise InputError(f"Invalid experiment={experiment}: expected {expected}; {remedy}")


def read_asked(outputs_dir: Path) -> tuple[list[AskedGrid], list[str]]:
    """The grids that were asked for, by name, and what is wrong with records that cannot be used."""
    grids, problems = [], []
    for path in sorted((outputs_dir / FOLDER).glob("[!.]*.json")):
        try:
            grids.append(_read(path))
        except (OSError, InputError) as error:
            problems.append(str(error))
    return sorted(grids, key=lambda grid: grid.name), problems


def _read(path: Path) -> AskedGrid:
    if not path.is_file() or path.stat().st_size > _LARGEST:
        raise InputError(f"{path} is no record of a grid")
    try:
        return AskedGrid.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{path} is no record of a grid: {first['msg']}; remove it") from None
