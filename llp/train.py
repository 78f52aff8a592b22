"""Train one point of the grid, or with -m every combination: `python -m llp.train -m method=dllp_bce,sim_llp`."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

import logging
import math
from collections.abc import Sequence

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from llp.config.checks import check_config
from llp.config.commands import PrepareConfig, TrainConfig
from llp.config.composition import compose
from llp.config.grouping_keys import read_option
from llp.config.hydra_main import command_of
from llp.datasets.preparation import prepare_table
from llp.runs.record import RunRecord
from llp.runs.run import run_one

log = logging.getLogger(__name__)

GIVEN = "dataset=files"
SHOWN_ALONE = ("-h", "--help", "--hydra-help", "-c", "--cfg", "-i", "--info", "-sc", "--shell-completion")


def prepare_beforehand(words: Sequence[str]) -> list[str]:
    """Prepare the table of `dataset=files` among a command's words, which come back with dataset=NAME."""
    if GIVEN not in words or any(word in SHOWN_ALONE for word in words):
        return list(words)
    options = {*(str(name) for name in read_option("dataset/files")), "errors"}
    of_files = [word for word in words if word.partition("=")[0] in options]
    place = [word for word in words if word.startswith("data_dir=")]
    checked = check_config(compose("prepare", [GIVEN, *place, *of_files]), PrepareConfig)
    prepare_table(checked.dataset, checked.data_dir, None, checked.errors)
    return [*(word for word in words if word not in (GIVEN, *of_files)), f"dataset={checked.dataset.name}"]


@command_of(TrainConfig, beforehand=prepare_beforehand)
def main(config: TrainConfig) -> float:
    """Train one point, or each one of a grid; a sweeper that optimises gets its criterion."""
    _say_what_is_not_swept()
    return criterion(run_one(config))


def _say_what_is_not_swept() -> None:
    """Warn of an experiment that is a grid, started as one run; the folds alone make none."""
    hydra_config = HydraConfig.get()
    swept = sorted(set(hydra_config.sweeper.get("params") or {}) - {"fold"})
    if hydra_config.mode == RunMode.RUN and swept:
        log.warning("one run, not the experiment's grid: with -m it sweeps over %s and the folds", ", ".join(swept))


def criterion(record: RunRecord) -> float:
    """What a sweeper may choose by: the held-out loss, under protocol=paper the test metric; NaN if undefined."""
    value = record.metric.held_out if record.protocol == "holdout" else record.metric.best
    return math.nan if value is None else value


if __name__ == "__main__":
    main()
    signals.ignore()
