"""How far grids are: what became of each point that they ask for, at what rate, and how long the rest takes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from statistics import fmean

from llp.files import is_locked, read_yaml
from llp.runs.grid import AskedPoint, asked_points
from llp.runs.point import Point
from llp.runs.record import FailureRecord, RecordError, RunRecord

RECENT_SECONDS = 3600  # of the runs whose rate is told


class RunState(StrEnum):
    """What became of a point."""

    DONE = "done"
    RUNNING = "running"
    CUT_OFF = "cut off"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True)
class PointState:
    """A point and what became of it.

    Attributes
    ----------
    point : Point
        Its names.
    state : RunState
        What became of it.
    folder : Path or None
        The run's folder, where it is known.
    record : RunRecord or None
        Of a point that is done.
    reason : str or None
        Why it failed, or why it cannot run.
    """

    point: Point
    state: RunState
    folder: Path | None
    record: RunRecord | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Rate:
    """How fast runs ended lately.

    Attributes
    ----------
    per_hour : float
        Runs that ended in an hour.
    at_once : float
        Runs that were under way at a time, on average.
    """

    per_hour: float
    at_once: float


@dataclass(frozen=True)
class StartedGrid:
    """A grid as it was started: what stood behind `python -m llp.train -m`, and what `--config-dir` named."""

    arguments: tuple[str, ...]
    config_dirs: tuple[str, ...] = ()


def asked_states(grid: StartedGrid) -> list[PointState]:
    """What became of each point of a grid.

    Raises
    ------
    InputError
        The grid cannot be composed, see `asked_points`.
    """
    return [_state_of_asked(asked) for asked in asked_points(grid.arguments, grid.config_dirs)]


def folder_states(outputs_dir: Path) -> list[PointState]:
    """What became of each run of a folder; one whose record cannot be read is missing, with the reason."""
    found = ((Point.of(folder), folder) for folder in sorted(outputs_dir.glob("*/*/*/fold=*/seed=*/*")))
    states = (_state_of_folder(point, folder) for point, folder in found if point is not None)
    return [state for state in states if state.state != RunState.MISSING or state.reason]


def each_once(states: Iterable[PointState]) -> list[PointState]:
    """States of points, each once, in their order."""
    known: dict[object, PointState] = {}
    for state in states:
        known.setdefault(state.folder or state.point, state)
    return list(known.values())


def _state_of_asked(asked: AskedPoint) -> PointState:
    point = asked.point
    if asked.run is None:
        return PointState(point, RunState.MISSING, None, reason=f"dataset {point.dataset} is not prepared")
    return _state_of_folder(point, asked.run.folder, needs_weights=asked.needs_weights)


def _state_of_folder(point: Point, folder: Path, *, needs_weights: bool = False) -> PointState:
    result, problem = folder / "result.json", None
    if result.is_file() and (not needs_weights or (folder / "checkpoints" / "best.pt").is_file()):
        try:
            return PointState(point, RunState.DONE, folder, RunRecord.read(result))
        except RecordError as error:
            problem = str(error)
    if is_locked(folder / ".lock"):
        return PointState(point, RunState.RUNNING, folder)
    if (folder / "error.json").is_file():
        try:
            return PointState(point, RunState.FAILED, folder, reason=FailureRecord.read(folder / "error.json").reason)
        except RecordError:
            return PointState(point, RunState.FAILED, folder, reason="its error.json cannot be read; see its run.log")
    begun = (folder / "attempt").is_file() and not result.is_file()
    return PointState(point, RunState.CUT_OFF if begun else RunState.MISSING, folder, reason=problem)


def recorded_grids(outputs_dir: Path) -> list[StartedGrid]:
    """The grids that were started with an outputs folder, each once, the oldest first.

    Those of a sweeper that chooses its points by what earlier ones reached are left out.
    """
    found: dict[StartedGrid, None] = {}
    for path in sorted(outputs_dir.glob("multirun/*/multirun.yaml")):
        try:
            node = read_yaml(path)["hydra"]
            given = (*node["overrides"]["task"], *node["overrides"]["hydra"])
            sources = [one["path"] for one in node["runtime"]["config_sources"] if one["provider"] == "command-line"]
            asks = str(node["sweeper"]["_target_"]).endswith(".GridSweeper")
        except (OSError, ValueError, LookupError, TypeError):  # one that is being written, or was cut short
            continue
        if asks:
            found[StartedGrid(tuple(map(str, given)), tuple(sources))] = None
    return list(found)


def of_experiment(name: str, grids: Iterable[StartedGrid]) -> list[StartedGrid]:
    """The grids that were started of an experiment; where none was, the experiment as it is written."""
    started = [grid for grid in grids if f"experiment={name}" in grid.arguments]
    return started or [StartedGrid((f"experiment={name}",))]


def rate(points: Sequence[PointState]) -> Rate | None:
    """How fast runs ended in the hour up to the last end; None where no run has ended."""
    spans = []
    for one in points:
        if one.record is not None and one.record.seconds > 0:
            start = datetime.fromisoformat(one.record.started).timestamp()
            spans.append((start, start + one.record.seconds))
    if not spans:
        return None
    last = max(end for _, end in spans)
    recent = [(start, end) for start, end in spans if end > last - RECENT_SECONDS]
    first = min(start for start, _ in recent)
    within = max(last - first, 1e-3)
    return Rate(len(recent) / within * 3600, sum(end - start for start, end in recent) / within)


def seconds_left(points: Sequence[PointState], at_once: float) -> float | None:
    """How long the points that are left take, by what measured runs took; None where none is measured.

    A point takes the mean of the runs of its method on its bag dataset, else of its method, else of all.

    Parameters
    ----------
    points : sequence of PointState
        Those of the grids; failed ones are left too.
    at_once : float
        How many runs are under way at a time.
    """
    measured: dict[tuple[str, ...], list[float]] = {}
    for one in points:
        if one.record is not None:
            for key in _kinds(one.point):
                measured.setdefault(key, []).append(one.record.seconds)
    if not measured:
        return None
    left = [one for one in points if one.state != RunState.DONE]
    expected = (next(measured[key] for key in _kinds(one.point) if key in measured) for one in left)
    return sum(map(fmean, expected)) / max(at_once, 1e-3)


def _kinds(point: Point) -> list[tuple[str, ...]]:
    return [(point.dataset, point.grouping_key, point.method), (point.dataset, point.method), ()]
