"""Progress of grids: at what rate their runs end, and how long the rest takes."""

from collections.abc import Sequence
from datetime import datetime
from statistics import fmean
from typing import NamedTuple

from llp.runs.book import PointState, RunState
from llp.runs.point import Point

RECENT_SECONDS = 3600  # over which the rate is measured


class Rate(NamedTuple):
    """Rate at which runs ended lately: runs that ended in an hour, and runs under way at a time, on average."""

    per_hour: float
    at_once: float


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
