"""Options of this project's launchers and of its search, which are in Hydra's node: that has no checks of its own."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from llp.config.complaints import like
from llp.config.options import check_value
from llp.config.schema import ConfigGroup
from llp.errors import invalid
from llp.files import SMALL_FILE

_Memory = Annotated[str, like(r"\d+[KMGT]?B?", "memory as Slurm writes it", "8GB")]


class SlurmOptions(ConfigGroup):
    """`conf/hydra/launcher/submitit_slurm.yaml`."""

    points_per_job: PositiveInt
    array_parallelism: PositiveInt
    time: PositiveInt
    signal_delay_s: PositiveInt
    max_num_timeout: NonNegativeInt
    job_name: str
    partition: str | None
    account: str | None
    qos: str | None
    constraint: str | None
    exclude: str | None
    comment: str | None
    cpus_per_task: PositiveInt
    mem: _Memory | None
    gpus_per_node: PositiveInt | None
    gres: str | None
    setup: list[str] | None
    additional_parameters: dict[str, str | int | float | bool]


class JoblibOptions(ConfigGroup):
    """`conf/hydra/launcher/joblib.yaml`."""

    n_jobs: PositiveInt | Annotated[int, Field(le=-1)]  # processes, or -1 for one on each core
    batch_size: PositiveInt | Literal["auto"]
    pre_dispatch: PositiveInt | str
    verbose: NonNegativeInt


class RayOptions(ConfigGroup):
    """`conf/hydra/launcher/ray.yaml`."""

    address: str | None
    num_cpus: PositiveInt | None
    cpus_per_run: PositiveFloat
    gpus_per_run: NonNegativeFloat
    retries: NonNegativeInt


class SearchOptions(ConfigGroup):
    """`conf/hydra/sweeper/optuna.yaml`."""

    n_trials: PositiveInt
    at_once: PositiveInt
    seed: NonNegativeInt
    startup_trials: PositiveInt
    prune: bool
    storage: Annotated[str, like(r"[^\x00]+", "a file", "outputs/optuna.journal")]


def check_plugin(group: str, model: type[ConfigGroup], options: dict[str, Any]) -> None:
    """Refuse options of `hydra.launcher` or `hydra.sweeper` that are not what their model says."""
    for name, hint in get_type_hints(model, include_extras=True).items():
        if name in options:
            check_value(f"{group}.{name}", options[name], hint)


def check_storage(path: Path) -> None:
    """Refuse to write a search into a file that is no journal of Optuna's or cannot be there; makes its folder."""
    expected = "a file of searches, or one that is not there yet"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if (path.exists() or path.is_symlink()) and (not path.is_file() or not _is_journal(path)):
            raise invalid("hydra.sweeper.storage", str(path), expected, "outputs/optuna.journal")
    except OSError as error:
        raise invalid("hydra.sweeper.storage", str(path), f"{expected}, but {error.strerror}") from None


def _is_journal(path: Path) -> bool:
    """Whether a file is empty, or its first line is one of Optuna's."""
    with path.open("rb") as file:
        line = file.readline(SMALL_FILE)
    try:
        return not line or "op_code" in json.loads(line)
    except (ValueError, TypeError):
        return False


def forget_namesakes() -> None:
    """Make Hydra forget other plugins of these names, where they are installed: they would be the schemas of ours."""
    Plugins.instance()  # loads them, and their schemas with them
    known = ConfigStore.instance().repo.get("hydra", {})
    for group, names in (("launcher", ("joblib", "submitit_slurm", "ray")), ("sweeper", ("optuna",))):
        for name in names:
            known.get(group, {}).pop(f"{name}.yaml", None)
