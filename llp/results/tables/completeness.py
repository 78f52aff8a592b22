"""How much of a grid is there: finished, failed, cut off and missing runs of every cell."""

from collections import Counter

import polars as pl

from llp.results.collect import Collected, Point
from llp.results.table import MISSING, Cell, Table


def completeness(collected: Collected, dataset: str, expected: frozenset[Point]) -> Table | None:
    """Runs of every grouping key and method of a dataset; None where nothing of it was started or is expected.

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
    if not started and not asked:
        return None
    draws = {(point.fold, point.seed) for point in started or asked}
    keys = sorted({point.grouping_key for point in started | asked})
    methods = sorted({point.method for point in started | asked})
    if not asked:
        asked = {Point(dataset, key, method, *draw) for key in keys for method in methods for draw in draws}
    total = started | asked
    counts = [_by_cell(points) for points in (total, done, failed, cut)]
    rows = [[Cell(key), *(_cell(*(count[key, method] for count in counts)) for method in methods)] for key in keys]
    summary = f"{len(done)} of {len(total)} runs finished, {len(failed)} failed, {len(cut)} running or cut off"
    missing = len(total - started)
    notes = [f"{summary}, {missing} never started. Runs are counted by fold and seed, under any protocol and settings."]
    return Table(f"{dataset}: completeness", ["bag dataset", *methods], rows, notes)


def _by_cell(points: set[Point]) -> Counter[tuple[str, str]]:
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
