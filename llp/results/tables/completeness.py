"""How much of a grid is there: finished, failed, cut off and missing runs of every cell."""

from collections import Counter
from dataclasses import dataclass

import polars as pl

from llp.results.collect import Collected, Point
from llp.results.table import MISSING, Cell, Table


@dataclass(frozen=True)
class Progress:
    """How much of a dataset's grid is there: its points by what became of them."""

    dataset: str
    done: frozenset[Point]
    failed: frozenset[Point]
    cut: frozenset[Point]
    total: frozenset[Point]

    @property
    def summary(self) -> str:
        """The counts in words."""
        missing = len(self.total - self.done - self.failed - self.cut)
        return (
            f"{len(self.done)} of {len(self.total)} runs finished, {len(self.failed)} failed, {len(self.cut)} running "
            f"or cut off, {missing} never started"
        )


def progress(collected: Collected, dataset: str, expected: frozenset[Point]) -> Progress:
    """What became of the points of a dataset's grid.

    Parameters
    ----------
    collected : Collected
        What the outputs folder holds.
    dataset : str
        The dataset.
    expected : frozenset of Point
        Points that an experiment asks for; more folds, seeds, keys and methods are taken from what was started: every
        combination of them is expected.
    """
    runs = collected.runs.filter(pl.col("dataset") == dataset)
    done = {Point(dataset, *row) for row in runs.select(*Point._fields[1:]).iter_rows()}
    failed = {failure.point for failure in collected.failed if failure.point.dataset == dataset} - done
    cut = {point for point in collected.unfinished if point.dataset == dataset} - done
    asked = {point for point in expected if point.dataset == dataset}
    started = done | failed | cut
    draws = {(point.fold, point.seed) for point in started or asked}
    keys = sorted({point.grouping_key for point in started | asked})
    methods = sorted({point.method for point in started | asked})
    if not asked:
        asked = {Point(dataset, key, method, *draw) for key in keys for method in methods for draw in draws}
    return Progress(dataset, *(frozenset(points) for points in (done, failed, cut, started | asked)))


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
