"""Progress of grids: which were started, at what rate their runs end, and how long the rest takes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from llp.runs.book import PointState, RunState, StartedGrid, read_asked
from llp.runs.point import Point

RECENT_SECONDS = 3600  # over which the rate is measured


class Rate(NamedTuple):
    """Rate at which runs ended lately: runs that ended in an hour, and runs under way at a time, on average."""

    per_hour: float
    at_once: float


def each_once(states: Iterable[PointState]) -> list[PointState]:
    """States of points, each once, in their order."""
    known: dict[object, PointState] = {}
    for state in states:
        known.setdefault(state.folder or state.point, state)
    return list(known.values())


def recorded_grids(outputs_dir: Path) -> list[StartedGrid]:
    """The grids that were started with an outputs folder, each once; none of a search, which chooses as it goes."""
    return list(dict.fromkeys(started for grid in read_asked(outputs_dir)[0] for started in grid.started))


def of_experiment(name: str, grids: Iterable[StartedGrid]) -> list[StartedGrid]:
    """The grids that were started of an experiment; where none was, the experiment as it is written."""
    started = [grid for grid in grids if f"experiment={name}" in grid.arguments]
    return started or [StartedGrid(arguments=(f"experiment={name}",))]


def rate(points: Sequence[PointState]) -> Rate | None:
    """Rate at which runs ended in the hour up to the last end; None where no run has ended."""
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
    """Seconds for the points that are left, each the mean of those most like it; None where none is measured."""
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
