"""Progress of grids: `python -m llp.status experiment=demo`, or of every grid of an outputs folder without a name."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from llp.config.commands import StatusConfig
from llp.config.hydra_main import command_of
from llp.errors import InputError
from llp.results.progress import rate, seconds_left
from llp.results.table import Cell, Table, show
from llp.runs.book import PointState, RunState, check_started, folder_states, read_asked
from llp.runs.point import Point

WATCH_SECONDS = 10
LONG_TABLE = 40  # rows; of a longer table those that are not done are shown


class GridProgress(NamedTuple):
    """State of each point, and what is wrong with records of grids that cannot be used."""

    points: list[PointState]
    problems: list[str]


@command_of(StatusConfig, groups=False)
def main(config: StatusConfig) -> None:
    """Show how far grids are, with watch=true again every few seconds."""
    while True:
        console = Console(soft_wrap=True)
        found = progress(config.outputs_dir, config.experiment)
        if config.watch:
            console.clear()
        show_progress(found, console)
        if not config.watch:
            return
        time.sleep(WATCH_SECONDS)


def progress(outputs_dir: Path, experiments: Sequence[str] | None = None) -> GridProgress:
    """State of the points of experiments, or of all grids and runs of a folder; InputError where that is not there."""
    if not outputs_dir.is_dir():
        raise InputError(f"Invalid outputs_dir={outputs_dir}: no such folder; start a grid: python -m llp.train -m")
    grids, problems = read_asked(outputs_dir)
    for name in experiments or ():
        check_started(name, (grid.experiment for grid in grids))
    asked = [grid for grid in grids if experiments is None or grid.experiment in experiments]
    each = [folder_states(outputs_dir)] if experiments is None else []
    each += [grid.states(outputs_dir) for grid in asked]
    once: dict[object, PointState] = {}
    for states in each:
        missing = Counter[Point]()  # of unknown folders: a point may be asked for under several settings
        for state in states:
            missing[state.point] += state.folder is None
            once[state.folder or (state.point, missing[state.point])] = state
    return GridProgress([*once.values()], problems)


def show_progress(progress: GridProgress, console: Console) -> None:
    """Print the counts per method and bag dataset, the rate, the time that is left, and why runs failed."""
    points = progress.points
    show(_table(points), console)
    counts = Counter(one.state for one in points)
    shown = [f"{counts[state]:,} {state}" for state in RunState if counts[state] or state == RunState.DONE]
    lines = [f"Points: {len(points):,}, of which {', '.join(shown)}"]
    if (measured := rate(points)) is not None:
        lines.append(f"Lately {measured.per_hour:,.0f} runs ended per hour, {measured.at_once:.2g} at once on average")
        left = seconds_left(points, measured.at_once)
        if left is not None and counts[RunState.DONE] < len(points):
            lines.append(f"Time left at this rate, by what runs took: {timedelta(seconds=round(left))}")
    lines += [f"  failed: {one.point}: {one.reason} ({one.folder})" for one in points if one.state == RunState.FAILED]
    reasons = Counter(one.reason for one in points if one.state == RunState.MISSING and one.reason)
    lines += [f"  missing: {count:,} × {reason}" for reason, count in reasons.items()]
    lines += [f"  left out: {problem}" for problem in progress.problems]
    console.print(escape("\n".join(lines)), highlight=False, soft_wrap=True)


def _table(points: Sequence[PointState]) -> Table:
    cells: dict[tuple[str, str, str], Counter[RunState]] = {}
    for one in points:
        cells.setdefault(one.point[:3], Counter())[one.state] += 1
    notes, shown = [], cells
    if len(cells) > LONG_TABLE:
        shown = {name: counts for name, counts in cells.items() if set(counts) != {RunState.DONE}}
        if len(shown) < len(cells):
            notes = [f"{len(cells) - len(shown):,} of {len(cells):,} rows, which are done, are left out"]
    rows = [
        [Cell(" ".join(name)), *(Cell(str(counts[state] or "")) for state in RunState)]
        for name, counts in shown.items()
    ]
    return Table("Points by bag dataset and method", ["", *RunState], rows, notes)


if __name__ == "__main__":
    main()
    signals.ignore()
