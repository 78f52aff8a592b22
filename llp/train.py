"""Train one point of the grid, or with -m every combination: `python -m llp.train -m method=dllp_bce,sim_llp`."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

import logging
import math
import sys

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from llp.config.commands import TrainConfig
from llp.config.hydra_main import command_of
from llp.datasets.files.beforehand import prepare_beforehand
from llp.runs.record import RunRecord
from llp.runs.run import run_one

log = logging.getLogger(__name__)


def _prepare() -> None:
    """Prepare the table of own files, and name it in their place on the command line."""
    sys.argv[1:] = prepare_beforehand(sys.argv[1:])


@command_of(TrainConfig, beforehand=_prepare)
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
    """The value a sweeper may choose by: that which chose the run's epoch, so under protocol=holdout no test label.

    The held-out loss, to be minimised, under protocol=holdout; under protocol=paper the test metric, to be maximised
    for binary labels (AUC) and minimised for real ones (MSE). NaN where it is undefined: not finite, or nothing is
    trained and so nothing held out.
    """
    value = record.metric.held_out if record.protocol == "holdout" else record.metric.best
    return math.nan if value is None else value


if __name__ == "__main__":
    main()
    signals.ignore()
