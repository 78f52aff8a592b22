"""Completeness of a grid: finished, failed, cut off and missing runs of every cell."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llp.results.collect import Collected, GridPoints
from llp.results.table import MISSING, Cell, Table
from llp.runs.book import RunState
from llp.runs.point import Point


@dataclass(frozen=True)
class Progress:
    """Completeness of a dataset: what became of its points, and what grids asked for."""

    dataset: str
    states: Mapping[Point, RunState]
    grids: tuple[GridPoints, ...] = ()

    @property
    def summary(self) -> str:
        """The counts in words."""
        done, failed, cut, missing = self.counts(self.states)
        return (
            f"{done} of {len(self.states)} runs finished, {failed} failed, {cut} running or cut off, "
            f"{missing} never started"
        )

    @property
    def done(self) -> int:
        """Number of finished points."""
        return self.counts(self.states)[0]

    def counts(self, points: Iterable[Point]) -> tuple[int, int, int, int]:
        """Numbers of points that are finished, failed, running or cut off, and never started."""
        n = Counter(self.states[point] for point in points)
        return n[RunState.DONE], n[RunState.FAILED], n[RunState.RUNNING] + n[RunState.CUT_OFF], n[RunState.MISSING]


def progress(collected: Collected, dataset: str) -> Progress:
    """State of each point of a dataset that was started or asked for; without a grid, of all combinations of these."""
    own = collected.only(lambda point: point.dataset == dataset)
    # of runs of one point under several settings a finished one counts, then a failed one
    states = {one.point: one.state for one in sorted(own.left, key=lambda one: one.state == RunState.FAILED)}
    states |= {Point(*row): RunState.DONE for row in own.runs.select(*Point._fields).iter_rows()}
    grids = tuple(grid for grid in own.grids if grid.points)
    asked = {point for grid in grids for point in grid.points}
    if not grids:
        draws = {(point.fold, point.seed) for point in states}
        keys, methods = ({getattr(point, name) for point in states} for name in ("grouping_key", "method"))
        asked = {Point(dataset, key, method, *draw) for key in keys for method in methods for draw in draws}
    return Progress(dataset, dict.fromkeys(asked, RunState.MISSING) | states, grids)


def grids(found: Progress) -> Table | None:
    """Counts of each grid that was started; None where none was."""
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
    if not found.states:
        return None
    cells: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for point in found.states:
        cells[point.grouping_key, point.method].append(point)
    keys, methods = (sorted({names[place] for names in cells}) for place in (0, 1))
    rows = [[Cell(key), *(_cell(*found.counts(cells.get((key, method), ()))) for method in methods)] for key in keys]
    notes = [f"{found.summary}. Runs are counted by fold and seed, under any protocol and settings."]
    return Table(f"{found.dataset}: completeness", ["bag dataset", *methods], rows, notes)


def _cell(done: int, failed: int, cut: int, missing: int) -> Cell:
    total = done + failed + cut + missing
    if not total:
        return Cell(MISSING)
    said = [f"{done} of {total}"]
    if failed:
        said.append(f"{failed} failed")
    if cut:
        said.append(f"{cut} running or cut off")
    return Cell(", ".join(said), value=done / total)
