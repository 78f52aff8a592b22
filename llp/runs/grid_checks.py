"""Checks of a grid's points as a whole, before the first one is launched."""

import json
from collections.abc import Sequence

from llp.config.targets import GIVEN, check_targets
from llp.machine import cores
from llp.runs.build import check_input
from llp.runs.cells import GridCell, Tables


def check_configs(cells: Sequence[GridCell]) -> None:
    """Check each config, and each fold and seed with one of them.

    Raises
    ------
    InputError
        An option has a wrong value, or does not go with another one.
    """
    seen: set[tuple[str, int]] = set()
    for cell in cells:
        _ = cell.checked
        for run in cell.places.values():
            if new := {name: value for name, value in run.items() if (name, value) not in seen}:
                seen |= new.items()
                cell.config.checked(**new)


def check_builds(cells: Sequence[GridCell], tables: Tables) -> None:
    """Build each method with each model and optimizer once, or check their options where there is no table yet.

    Raises
    ------
    InputError
        One cannot be built.
    """
    seen: set[str] = set()
    for cell in cells:
        assert cell.content is not None
        parts = {name: cell.content[name] for name in ("dataset", *GIVEN, "hardware")}
        key = json.dumps(parts)
        if key in seen:
            continue
        seen.add(key)
        table = tables.of(cell)
        if table is None:
            check_targets(cell.checked)
        else:
            check_input(cell.checked, table)


def crowding(n_jobs: int, n_points: int, threads: int, n_cores: int | None = None) -> str | None:
    """Say in a line where processes × threads go beyond the cores.

    Parameters
    ----------
    n_jobs : int
        The launcher's processes; below 0 as joblib counts: -1 is one for each core.
    n_points : int
        Points to train.
    threads : int
        Most threads of a point.
    n_cores : int, optional
        Those that this process may use.
    """
    n_cores = n_cores or cores()
    processes = min(n_points, n_jobs if n_jobs > 0 else max(1, n_cores + 1 + n_jobs))
    if processes * threads <= n_cores:
        return None
    return (
        f"{processes} processes × trainer.threads={threads} are more than the {n_cores} cores and wait for each other: "
        "write a smaller hydra.launcher.n_jobs or trainer.threads"
    )
