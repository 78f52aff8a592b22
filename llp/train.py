"""Train one point of the grid, or with -m every combination: `python -m llp.train -m method=dllp_bce,sim_llp`."""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

from concurrent.futures import Future

import hydra
from hydra.errors import CompactHydraException
from omegaconf import DictConfig

from llp.command import command, launched
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError
from llp.runs import thread_pool
from llp.runs.run import run_one

register()


@command
@hydra.main(config_path=str(CONF_DIR), config_name="train", version_base="1.3")
def main(config: DictConfig) -> float | Future[float]:
    """Run one point and return its metric, for sweepers that optimise."""
    return thread_pool.run(_train, config)


def _train(config: DictConfig) -> float:
    with launched():
        try:
            record = run_one(config)
        except (InputError, OSError) as error:
            raise CompactHydraException(str(error)) from None  # Hydra prints its message without a traceback
    best = record.metric.best
    return float("nan") if best is None else best


if __name__ == "__main__":
    main()
    signals.ignore()
