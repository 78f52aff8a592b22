"""Hydra's plugin of this project: it loads sweepers from this namespace only."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from omegaconf import OmegaConf


class GridSweeper(BasicSweeper):
    """Hydra's basic sweeper, which checks all points before the first one and launches those that are not finished."""

    def sweep(self, arguments: list[str]) -> Any:
        """See `Sweeper.sweep`."""
        from llp.config.composition import CheckedLoader
        from llp.errors import InputError
        from llp.runs.grid import points_of, points_to_launch

        assert self.config is not None
        assert self.launcher is not None
        assert self.hydra_context is not None
        loader = self.hydra_context.config_loader
        assert isinstance(loader, CheckedLoader)
        try:
            launched = points_to_launch(loader, self.config, points_of(loader, self.config))
        except InputError as error:
            sys.exit(str(error))
        returns: list[Sequence[Any]] = []
        for batch in self.split_overrides_to_chunks(launched, self.max_batch_size) if launched else ():
            if not returns:
                folder = Path(self.config.hydra.sweep.dir)
                folder.mkdir(parents=True, exist_ok=True)
                OmegaConf.save(self.config, folder / "multirun.yaml")
            returns.append(self.launcher.launch(batch, initial_job_idx=sum(map(len, returns))))
            for job in returns[-1]:
                _ = job.return_value  # raises what made the job fail
        return returns
