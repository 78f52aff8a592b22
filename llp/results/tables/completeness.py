"""How much of a grid is there: finished, failed, cut off and missing runs of every cell."""

from collections import Counter
from dataclasses import dataclass, replace

import polars as pl

from llp.results.collect import Collected, GridPoints
from llp.results.table import MISSING, Cell, Table
from llp.runs.point import Point


@dataclass(frozen=True)
class Progress:
    """How much of a dataset is there: its points by what became of them, and what grids asked for."""

    dataset: str
    done: frozenset[Point]
    failed: frozenset[Point]
    cut: frozenset[Point]
    total: frozenset[Point]
    grids: tuple[GridPoints, ...] = ()

    @property
    def summary(self) -> str:
        """The counts in words."""
        done, failed, cut, missing = self.counts(self.total)
        return (
            f"{done} of {len(self.total)} runs finished, {failed} failed, {cut} running or cut off, "
            f"{missing} never started"
        )

    def counts(self, points: frozenset[Point]) -> tuple[int, int, int, int]:
        """How many of some points are finished, failed, running or cut off, and were never started."""
        done, failed, cut = (len(points & of) for of in (self.done, self.failed, self.cut))
        return done, failed, cut, len(points) - done - failed - cut


def progress(collected: Collected, dataset: str) -> Progress:
    """What became of the points of a dataset.

    Expected are the points that grids asked for and those that were started. Where no grid asked for any, every
    combination of the started folds, seeds, keys and methods is expected.

    Parameters
    ----------
    collected : Collected
        What the outputs folder holds.
    dataset : str
        The dataset.
    """
    runs = collected.runs.filter(pl.col("dataset") == dataset)
    done = {Point(dataset, *row) for row in runs.select(*Point._fields[1:]).iter_rows()}
    failed = {failure.point for failure in collected.failed if failure.point.dataset == dataset} - done
    cut = {point for point in collected.unfinished if point.dataset == dataset} - done - failed
    own = [
        replace(grid, points=frozenset(point for point in grid.points if point.dataset == dataset))
        for grid in collected.grids
    ]
    grids = tuple(grid for grid in own if grid.points)
    started = done | failed | cut
    asked = {point for grid in grids for point in grid.points}
    if not grids:
        draws = {(point.fold, point.seed) for point in started}
        keys, methods = ({getattr(point, name) for point in started} for name in ("grouping_key", "method"))
        asked = {Point(dataset, key, method, *draw) for key in keys for method in methods for draw in draws}
    done_points, failed_points, cut_points = frozenset(done), frozenset(failed), frozenset(cut)
    return Progress(dataset, done_points, failed_points, cut_points, frozenset(started | asked), grids)


def grids(found: Progress) -> Table | None:
    """What became of each grid that was started; None where none was."""
    if not found.grids:
        return None
    rows = [
        [Cell(grid.name), *(Cell(f"{n:,}", value=n) for n in (len(grid.points), *found.counts(grid.points)))]
        for grid in found.grids
    ]
    columns = ["grid", "points", "finished", "failed", "running or cut off", "never started"]
    notes = ["A grid is named by its experiment and a digest of its points."]
    return Table(f"{found.dataset}: grids", columns, rows, notes)


def completeness(found: Progress) -> Table | None:
    """Runs of every grouping key and method of a dataset; None where nothing of it was started or is expected."""
    if not found.total:
        return None
    keys = sorted({point.grouping_key for point in found.total})
    methods = sorted({point.method for point in found.total})
    counts = [_by_cell(points) for points in (found.total, found.done, found.failed, found.cut)]
    rows = [[Cell(key), *(_cell(*(count[key, method] for count in counts)) for method in methods)] for key in keys]
    notes = [f"{found.summary}. Runs are counted by fold and seed, under any protocol and settings."]
    return Table(f"{found.dataset}: completeness", ["bag dataset", *methods], rows, notes)


def _by_cell(points: frozenset[Point]) -> Counter[tuple[str, str]]:
    return Counter((point.grouping_key, point.method) for point in points)


def _cell(total: int, done: int, failed: int, cut: int) -> Cell:
    if not total:
        return Cell(MISSING)
    said = [f"{done} of {total}"]
    if failed:
        said.append(f"{failed} failed")
    if cut:
        said.append(f"{cut} running or cut off")
    return Cell(", ".join(said), value=done / total)
