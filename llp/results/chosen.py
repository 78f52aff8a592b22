"""Subjects of a report: datasets, grouping keys, methods, an experiment's points."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from llp.datasets.published import BENCHMARKS
from llp.errors import InputError
from llp.results.collect import Collected
from llp.runs.book import check_started


def datasets_of(outputs_dir: Path, collected: Collected, asked: Sequence[str] | None) -> list[str]:
    """Names to report on: with runs or an analysis, asked for by a grid or by the user, or published."""
    there = _names(collected, "dataset") | {
        unquote(path.parent.name) for path in outputs_dir.glob("analysis/*/analysis.parquet")
    }
    if asked is None:
        return sorted(there or BENCHMARKS)
    known = sorted(there | {*BENCHMARKS})
    _refuse_unknown("dataset", asked, known)
    return [name for name in known if name in asked]


def _names(collected: Collected, option: str) -> set[str]:
    """The names that runs have which were started or are asked for."""
    asked = (getattr(point, option) for grid in collected.grids for point in grid.points)
    return {*collected.runs[option], *(getattr(one.point, option) for one in collected.left), *asked}


def _refuse_unknown(option: str, names: Sequence[str], there: Sequence[str]) -> None:
    unknown = [name for name in names if name not in there]
    if unknown and there:
        example = there[0] if len(there) == 1 else f"[{','.join(there)}]"
        raise InputError(f"Invalid {option}={','.join(unknown)}: no run has it; write {option}={example}")


def of_experiment(collected: Collected, name: str | None) -> Collected:
    """The points that an experiment's grids asked for, and what became of them; all there is for None."""
    if name is None:
        return collected
    check_started(name, (grid.experiment for grid in collected.grids))
    grids = [grid for grid in collected.grids if grid.experiment == name]
    points = {point for grid in grids for point in grid.points}
    return replace(collected.only(points.__contains__), grids=grids)


def filtered(outputs_dir: Path, collected: Collected, filters: Mapping[str, Sequence[str]]) -> Collected:
    """The runs and points that have one of the given names in each of some options; InputError for unknown ones."""
    for option in (name for name in filters if name != "dataset"):
        drawn = outputs_dir.glob("analysis/*/matrices/[!.]*.parquet") if option == "grouping_key" else ()
        there = _names(collected, option) | {unquote(path.stem) for path in drawn}
        _refuse_unknown(option, filters[option], sorted(there))
    return collected.only(lambda point: all(getattr(point, option) in names for option, names in filters.items()))
