"""The points of a grid before the first one is launched: all are checked, and finished ones are left out.

What a point is follows from its config; the config follows from few compositions (`llp.config.points`), and those of
points that differ in fold and seed alone from one of them. So a grid of thousands of points answers in seconds.
"""

import logging
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, RangeSweep
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from llp.config.composition import CheckedLoader
from llp.config.launchers import check_joblib
from llp.config.points import Points, compose_grid
from llp.config.rerun import identity_of
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.runs.benchmark import expand_choices
from llp.runs.book import AskedGrid, PointState, RunState, StartedGrid, state_of, write_asked
from llp.runs.cells import GridCell, Overrides, Tables, cells_of
from llp.runs.grid_checks import check_builds, check_configs, crowding
from llp.runs.identity import Run
from llp.runs.point import Point

log = logging.getLogger(__name__)

MOST_POINTS = 1_000_000


def asked_points(arguments: Sequence[str], config_dirs: Sequence[str] = ()) -> list[PointState]:
    """What became of every point that a grid asks for, in its order: nothing is trained, written or checked further.

    Parameters
    ----------
    arguments : sequence of str
        What stands behind `python -m llp.train -m`, such as `["experiment=demo"]`.
    config_dirs : sequence of str
        What `--config-dir` names there.

    Raises
    ------
    InputError
        An argument is wrong, or it cannot be known what it stands for.
    """
    loader, master = compose_grid(arguments, config_dirs)
    expand_choices(master, analyze=False)
    tables, asked = Tables(), dict[int, PointState]()
    for cell in cells_of(Points(loader, master), points_of(loader, master)):
        for place, run in cell.places.items():
            asked[place] = _asked(cell, run, tables)
    return [asked[place] for place in sorted(asked)]


def _asked(cell: GridCell, run: dict[str, int], tables: Tables) -> PointState:
    content = None if cell.content is None else cell.content | run
    table = None if content is None else tables.of(cell)
    point = _point(cell, run)
    if content is None or table is None:
        return PointState(point, RunState.MISSING, None, reason=f"dataset {point.dataset} is not prepared")
    return state_of(point, _run_of(content, table).folder, needs_weights=_keeps_weights(content))


def _point(cell: GridCell, run: dict[str, int]) -> Point:
    numbers = cell.config.run | run
    return Point(*cell.config.names, numbers["fold"], numbers["seed"])


def points_of(loader: CheckedLoader, master: DictConfig) -> list[Overrides]:
    """The points of a multirun: every combination of its options' values.

    Raises
    ------
    InputError
        There is none, or there are more than `MOST_POINTS`.
    """
    given = [f"{name}={values}" for name, values in (master.hydra.sweeper.get("params") or {}).items()]
    asked: Any = OmegaConf.to_container(master.hydra.overrides.task)  # each point resolves its interpolations
    parsed = OverridesParser.create(config_loader=loader).parse_overrides([*given, *asked])
    if (n := math.prod(map(_n_values, parsed))) > MOST_POINTS:
        n_points = f"{n:,}" if math.isfinite(n) else "endlessly many"
        raise InputError(
            f"Invalid grid of {n_points} points: expected at most {MOST_POINTS:,}, such as seed=range(0,10)"
        )
    try:
        [points] = BasicSweeper.split_arguments(parsed, None)
    except HydraException as error:  # of intervals and the like
        raise InputError(
            "Invalid grid: it has an interval, of which a search (hydra/sweeper=optuna) chooses points as it goes; "
            "expected lists of values, such as optimizer.lr=0.001,0.01"
        ) from error
    if not points:
        raise InputError("Invalid grid: expected values for every option, but one has none, such as fold=range(0,5)")
    return points


def _n_values(override: Override) -> float:
    """How many values an option has; those of a glob are names, which are few."""
    sweep = override.value()
    if isinstance(sweep, ChoiceSweep):
        return len(sweep.list)
    if not isinstance(sweep, RangeSweep) or sweep.start is None or sweep.stop is None:
        return 1
    n = (sweep.stop - sweep.start) / sweep.step if sweep.step else math.inf
    return max(0, math.ceil(n)) if math.isfinite(n) else math.inf


def points_to_launch(
    loader: CheckedLoader, master: DictConfig, points: Sequence[Overrides], *, record: bool
) -> list[Overrides]:
    """The points of a grid that are not finished, in their order, all of them checked.

    Parameters
    ----------
    loader : CheckedLoader
        Hydra's config loader.
    master : DictConfig
        The multirun's config, with Hydra's node.
    points : sequence of list of str
        The points' overrides; every point has the same options.
    record : bool
        Whether all are recorded as asked for.

    Raises
    ------
    InputError
        A point that is not finished cannot run.
    """
    cells, tables = cells_of(Points(loader, master), points), Tables()
    asked: dict[str, list[Point]] = defaultdict(list)
    for cell in cells:
        if cell.content is not None:
            asked[cell.content["outputs_dir"]] += [_point(cell, run) for run in cell.places.values()]
    for cell in cells:
        if cell.content is not None and not cell.content["force"]:
            table = tables.of(cell)
            done = [place for place, run in cell.places.items() if table and _is_finished(cell.content | run, table)]
            cell.places = {place: run for place, run in cell.places.items() if place not in done}
    left = [cell for cell in cells if cell.places]
    known = [cell for cell in left if cell.content is not None]
    check_configs(known)
    check_builds(known, tables)
    if str(master.hydra.launcher._target_).endswith(".JoblibLauncher"):
        check_joblib(dict(master.hydra.launcher))
    if record:
        _record(asked, master.hydra)
    launched = sorted(place for cell in left for place in cell.places)
    threads = max((cell.content["trainer"]["threads"] for cell in known if cell.content is not None), default=1)
    if line := crowding(master.hydra.launcher.get("n_jobs", 1), len(launched), threads):
        log.warning(line)
    if len(launched) < len(points):
        log.info("%s of %s points are finished", f"{len(points) - len(launched):,}", f"{len(points):,}")
    return [list(points[place]) for place in launched]


def _record(asked: Mapping[str, Sequence[Point]], hydra: DictConfig) -> None:
    """Leave a record of the points in their outputs folder; of those that only a launched job knows there is none."""
    own = tuple(source.path for source in hydra.runtime.config_sources if source.provider == "command-line")
    started = StartedGrid(arguments=(*hydra.overrides.task, *hydra.overrides.hydra), config_dirs=own)
    for outputs_dir, points in asked.items():
        write_asked(Path(outputs_dir), AskedGrid.of(hydra.runtime.choices.get("experiment"), points, started))


def _run_of(content: dict[str, Any], table: InstanceTable) -> Run:
    return Run.of(identity_of(content), table, Path(content["outputs_dir"]))


def _keeps_weights(content: Mapping[Any, Any]) -> bool:
    """See `TrainConfig.keeps_weights`: a point that may be finished is not checked."""
    return bool(content["save_model"] or content["method"].get("keep_model"))


def _is_finished(content: dict[str, Any], table: InstanceTable) -> bool:
    try:
        return _run_of(content, table).finished(_keeps_weights(content), warn=False) is not None
    except InputError:  # of a later version, which the point tells
        return False
