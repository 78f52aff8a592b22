"""Train one point of the grid, or with -m every combination: `python -m llp.train -m method=dllp_bce,sim_llp`."""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

import logging
import math
import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from llp.command import command, launched, told_in_a_line
from llp.config.command_line import make_parsable
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from llp.datasets.files.beforehand import prepare_beforehand
from llp.errors import InputError
from llp.runs.record import RunRecord
from llp.runs.run import run_one

log = logging.getLogger(__name__)
register()


@command
def main() -> None:
    """Train one point or a grid, of own files after their table is prepared."""
    make_parsable()
    try:
        sys.argv[1:] = prepare_beforehand(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
    _main()


@hydra.main(config_path=str(CONF_DIR), config_name="train", version_base="1.3")
def _main(config: DictConfig) -> float:
    """Run one point and return its criterion, for sweepers that optimise; see `criterion`."""
    _say_what_is_not_swept()
    with launched(), told_in_a_line():
        record = run_one(config)
    return criterion(record)


def _say_what_is_not_swept() -> None:
    """Warn of an experiment that is a grid, started as one run; the folds alone make none."""
    hydra_config = HydraConfig.get()
    swept = sorted(set(hydra_config.sweeper.get("params") or {}) - {"fold"})
    if hydra_config.mode == RunMode.RUN and swept:
        log.warning("one run, not the experiment's grid: with -m it sweeps over %s and the folds", ", ".join(swept))


def criterion(record: RunRecord) -> float:
    """What a sweeper may choose by: what the run's epoch was chosen by, so under protocol=holdout no test label.

    The held-out loss, to be minimised, under protocol=holdout; under protocol=paper the test metric, to be maximised
    for binary labels (AUC) and minimised for real ones (MSE). NaN where it is undefined: not finite, or nothing is
    trained and so nothing held out.
    """
    value = record.metric.held_out if record.protocol == "holdout" else record.metric.best
    return math.nan if value is None else value


if __name__ == "__main__":
    main()
    signals.ignore()
