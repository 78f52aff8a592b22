"""The points of a grid before the first one is launched: all are checked, and finished ones are left out."""

import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from llp.config.cells import GridCell, cells_of
from llp.config.launchers import JoblibOptions, check_plugin
from llp.config.points import Multirun
from llp.config.rerun import identity_of
from llp.config.targets import GIVEN, check_preparation, check_targets
from llp.data.table import InstanceTable
from llp.machine import cores
from llp.runs.book import AskedCell, AskedGrid, AskedRun, RunState, write_asked
from llp.runs.build import Parts, open_table
from llp.runs.identity import Run
from llp.runs.tracking import check_installed

log = logging.getLogger(__name__)


Tables = dict[str, InstanceTable | None]
"""Tables that were opened, None where one is missing, by their dataset and folder."""


def _table_of(cell: GridCell, tables: Tables) -> InstanceTable | None:
    """The table of a cell whose content is known, opened once; None where it is missing."""
    assert cell.content is not None
    key = json.dumps([cell.content["dataset"], cell.content["data_dir"]])
    if key not in tables:
        there = (Path(cell.content["data_dir"]) / str(cell.content["dataset"]["table"])).exists()
        tables[key] = open_table(cell.checked.dataset, cell.checked.data_dir) if there else None
    return tables[key]


def _asked(cell: GridCell, tables: Tables) -> AskedCell:
    """What a cell, whose content is known and not yet checked, asks for."""
    assert cell.content is not None
    table, runs = _table_of(cell, tables), list[AskedRun]()
    for numbers in cell.places.values():
        content = cell.content | numbers
        known = "" if table is None else Run.of(identity_of(content), table, Path()).hash
        runs.append(AskedRun(content["fold"], content["seed"], known))
    dataset, key, method = cell.names
    keeps = cell.content["save_model"] or cell.content["method"].get("keep_model")  # see `TrainConfig.keeps_weights`
    return AskedCell.model_construct(
        dataset=dataset, grouping_key=key, method=method, runs=tuple(runs), keeps_weights=bool(keeps)
    )


def points_to_launch(multirun: Multirun, points: Sequence[list[str]], *, record: bool) -> list[list[str]]:
    """The points (overrides) of a grid that are not finished, all checked; `record`: as asked for."""
    cells, tables = cells_of(multirun, points), Tables()
    asked: dict[Path, list[AskedCell]] = defaultdict(list)  # of those that only a launched job knows there is no record
    for cell in cells:
        if cell.content is not None:
            outputs_dir, wanted = Path(cell.content["outputs_dir"]), _asked(cell, tables)
            asked[outputs_dir].append(wanted)
            if not cell.content["force"]:
                known = [(place, run) for place, run in zip(cell.places, wanted.runs, strict=True) if run.hash]
                states = {place: wanted.state(run, outputs_dir).state for place, run in known}
                cell.places = {place: run for place, run in cell.places.items() if states.get(place) != RunState.DONE}
    left = [cell for cell in cells if cell.places]
    to_check = [cell for cell in left if cell.content is not None]
    _check_configs(to_check)
    _check_builds(to_check, tables)
    launcher = multirun.option("hydra.launcher")
    if launcher["_target_"].endswith(".JoblibLauncher"):
        check_plugin("hydra.launcher", JoblibOptions, launcher)
    if record:
        experiment = multirun.option("hydra.runtime.choices.experiment")
        for outputs_dir, named in asked.items():
            write_asked(outputs_dir, AskedGrid(experiment=experiment, cells=tuple(named)))
    launched = sorted(place for cell in left for place in cell.places)
    threads = max((cell.checked.trainer.threads for cell in to_check), default=1)
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


def _check_builds(cells: Sequence[GridCell], tables: Tables) -> None:
    """Build each method with each model and optimizer once, or check their options where there is no table yet."""
    parts = ("dataset", *GIVEN, "hardware")
    different = {json.dumps([cell.content and cell.content[part] for part in parts]): cell for cell in reversed(cells)}
    for cell in reversed(different.values()):
        table = _table_of(cell, tables)
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
