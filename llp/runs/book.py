"""The book of grids: what was asked for, in `<outputs_dir>/grids/`, and what became of each point, by its folder."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from llp.errors import InputError
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


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StartedGrid(_Asked):
    """A start of a grid: the arguments of `python -m llp.train -m`, and the folders of `--config-dir`."""

    arguments: tuple[str, ...]
    config_dirs: tuple[str, ...] = ()


class AskedCell(_Asked):
    """The points of a grid that differ in fold and seed alone."""

    dataset: str
    grouping_key: str
    method: str
    runs: tuple[tuple[NonNegativeInt, NonNegativeInt], ...]  # fold, seed


class AskedGrid(_Asked):
    """A grid: the experiment that it is of, if any, its points, and the ways in which it was started."""

    experiment: str | None
    cells: tuple[AskedCell, ...]
    started: tuple[StartedGrid, ...] = ()

    @classmethod
    def of(cls, experiment: str | None, points: Iterable[Point], *started: StartedGrid) -> "AskedGrid":
        """The grid of some points, in any order."""
        runs: dict[tuple[str, str, str], set[tuple[int, int]]] = defaultdict(set)
        for point in points:
            runs[point[:3]].add(point[3:])
        cells = (
            AskedCell(dataset=cell[0], grouping_key=cell[1], method=cell[2], runs=tuple(sorted(runs[cell])))
            for cell in sorted(runs)
        )
        return cls(experiment=experiment, cells=tuple(cells), started=started)

    def points(self) -> Iterator[Point]:
        """Its points."""
        for cell in self.cells:
            for fold, seed in cell.runs:
                yield Point(cell.dataset, cell.grouping_key, cell.method, fold, seed)

    @property
    def name(self) -> str:
        """Its experiment, or 'grid', and a digest of its points."""
        text = json.dumps(self.model_dump(exclude={"started"}), sort_keys=True)
        return f"{self.experiment or 'grid'}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def write_asked(outputs_dir: Path, grid: AskedGrid) -> Path:
    """Leave the record of a grid below the folder of its runs, with the ways in which it was started before."""
    path = outputs_dir / FOLDER / f"{folder_name(grid.name)}.json"
    try:
        before = _read(path).started
    except (OSError, InputError):
        before = ()
    text = grid.model_copy(update={"started": tuple(dict.fromkeys([*before, *grid.started]))}).model_dump_json()
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path


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
