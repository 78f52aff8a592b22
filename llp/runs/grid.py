"""The points of a grid before the first one is launched: all are checked, and finished ones are left out."""

import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from llp.config.cells import GridCell, cells_of
from llp.config.commands import TrainConfig
from llp.config.launchers import JoblibOptions, check_plugin
from llp.config.points import Multirun
from llp.config.rerun import identity_of
from llp.config.targets import GIVEN, check_preparation, check_targets
from llp.config.validation import validate
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.machine import cores
from llp.runs.benchmark import expand_choices
from llp.runs.book import AskedGrid, PointState, RunState, StartedGrid, state_of, write_asked
from llp.runs.build import Parts, open_table
from llp.runs.identity import Run
from llp.runs.point import Point
from llp.runs.tracking import check_installed

log = logging.getLogger(__name__)


class OpenTables:
    """The tables that are prepared, each opened once; those whose error is `left_out` stand as missing."""

    def __init__(self, left_out: tuple[type[Exception], ...] = ()) -> None:
        self._left_out = left_out
        self._opened: dict[str, InstanceTable | None] = {}

    def of(self, cell: GridCell) -> InstanceTable | None:
        """A cell's table; None where it is missing."""
        if cell.content is None:
            return None
        key = json.dumps([cell.content["dataset"], cell.content["data_dir"]])
        if key not in self._opened:
            self._opened[key] = None
            if (Path(cell.content["data_dir"]) / str(cell.content["dataset"]["table"])).exists():
                with suppress(*self._left_out):
                    self._opened[key] = open_table(cell.checked.dataset, cell.checked.data_dir)
        return self._opened[key]


def asked_points(arguments: Sequence[str], config_dirs: Sequence[str] = ()) -> list[PointState]:
    """State of every point of a grid, in its order; the arguments are those of `llp.train -m` and --config-dir."""
    multirun = Multirun.of(arguments, config_dirs)
    expand_choices(multirun, analyze=False)
    tables, states = OpenTables((InputError, OSError)), dict[int, PointState]()
    cells = cells_of(multirun, multirun.points())
    validate(cells[0].config, TrainConfig)  # whatever its folders are
    for cell in cells:
        states |= {place: _state(cell, run, tables) for place, run in cell.places.items()}
    return [states[place] for place in sorted(states)]


def _state(cell: GridCell, run: dict[str, int], tables: OpenTables) -> PointState:
    point, table = _point(cell, run), tables.of(cell)
    if cell.content is None or table is None:
        return PointState(point, RunState.MISSING, None, reason=f"dataset {point.dataset} is not prepared")
    content = cell.content | run
    folder = Run.of(identity_of(content), table, Path(content["outputs_dir"])).folder
    keeps_weights = content["save_model"] or content["method"].get("keep_model")  # see `TrainConfig.keeps_weights`
    return state_of(point, folder, needs_weights=bool(keeps_weights))


def _point(cell: GridCell, run: dict[str, int]) -> Point:
    numbers = cell.run | run
    return Point(*cell.names, numbers["fold"], numbers["seed"])


def points_to_launch(multirun: Multirun, points: Sequence[list[str]], *, record: bool) -> list[list[str]]:
    """The points (overrides) of a grid that are not finished, all checked; `record`: as asked for."""
    cells, tables = cells_of(multirun, points), OpenTables()
    asked: dict[str, list[Point]] = defaultdict(list)  # of those that only a launched job knows there is no record
    for cell in cells:
        if cell.content is not None:
            asked[cell.content["outputs_dir"]] += [_point(cell, run) for run in cell.places.values()]
    for cell in cells:
        if cell.content is not None and not cell.content["force"]:
            states = {place: _state(cell, run, tables).state for place, run in cell.places.items()}
            cell.places = {place: run for place, run in cell.places.items() if states[place] != RunState.DONE}
    left = [cell for cell in cells if cell.places]
    known = [cell for cell in left if cell.content is not None]
    _check_configs(known)
    _check_builds(known, tables)
    launcher = multirun.option("hydra.launcher")
    if launcher["_target_"].endswith(".JoblibLauncher"):
        check_plugin("hydra.launcher", JoblibOptions, launcher)
    if record:
        arguments, config_dirs = multirun.started
        started = StartedGrid(arguments=arguments, config_dirs=config_dirs)
        for outputs_dir, named in asked.items():
            grid = AskedGrid.of(multirun.option("hydra.runtime.choices.experiment"), named, started)
            write_asked(Path(outputs_dir), grid)
    launched = sorted(place for cell in left for place in cell.places)
    threads = max((cell.checked.trainer.threads for cell in known), default=1)
    if line := crowding(launcher.get("n_jobs", 1), len(launched), threads):
        log.warning(line)
    if len(launched) < len(points):
        log.info("%s of %s points are finished", f"{len(points) - len(launched):,}", f"{len(points):,}")
    return [list(points[place]) for place in launched]


def _check_configs(cells: Sequence[GridCell]) -> None:
    """Check each config, and each fold and seed with one of them."""
    seen: set[tuple[str, int]] = set()
    for cell in cells:
        check_installed(cell.checked.logger)
        for run in cell.places.values():
            if new := {name: value for name, value in run.items() if (name, value) not in seen}:
                seen |= new.items()
                cell.check(**new)


def _check_builds(cells: Sequence[GridCell], tables: OpenTables) -> None:
    """Build each method with each model and optimizer once, or check their options where there is no table yet."""
    parts = ("dataset", *GIVEN, "hardware")
    different = {json.dumps([cell.content and cell.content[part] for part in parts]): cell for cell in reversed(cells)}
    for cell in reversed(different.values()):
        table = tables.of(cell)
        if table is None:
            check_preparation(cell.checked.dataset)
            check_targets(cell.checked)
        else:
            Parts(cell.checked, table).check()


def crowding(n_jobs: int, n_points: int, threads: int, n_cores: int | None = None) -> str | None:
    """Say in a line where processes × threads go beyond the cores; `n_jobs` below 0 counts as joblib does."""
    n_cores = n_cores or cores()
    processes = min(n_points, n_jobs if n_jobs > 0 else max(1, n_cores + 1 + n_jobs))
    if processes * threads <= n_cores:
        return None
    return (
        f"{processes} processes × trainer.threads={threads} are more than the {n_cores} cores and wait for each other: "
        "write a smaller hydra.launcher.n_jobs or trainer.threads"
    )
