"""Hydra's plugin of this project: it loads sweepers from this namespace only."""

import sys
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.utils import JobReturn
from omegaconf import OmegaConf


class GridSweeper(BasicSweeper):
    """Hydra's basic sweeper, which checks all points before the first one and launches those that are not finished.

    A point that fails leaves the others; at the end all that failed are told, and the command's exit code is 1.
    """

    def sweep(self, arguments: list[str]) -> Any:
        """See `Sweeper.sweep`."""
        from llp.config.composition import CheckedLoader
        from llp.errors import InputError
        from llp.runs.failures import end_of_grid
        from llp.runs.grid import points_of, points_to_launch
        from llp.runs.thread_pool import settle

        assert self.config is not None
        assert self.launcher is not None
        assert self.hydra_context is not None
        loader = self.hydra_context.config_loader
        assert isinstance(loader, CheckedLoader)
        try:
            launched = points_to_launch(loader, self.config, points_of(loader, self.config), record=True)
        except InputError as error:
            sys.exit(str(error))
        jobs: list[JobReturn] = []
        if launched:
            folder = Path(self.config.hydra.sweep.dir)
            folder.mkdir(parents=True, exist_ok=True)
            OmegaConf.save(self.config, folder / "multirun.yaml")
            for batch in self.split_overrides_to_chunks(launched, self.max_batch_size):
                jobs += self.launcher.launch(batch, initial_job_idx=len(jobs))
        settle(jobs)
        if end := end_of_grid(launched, jobs):
            sys.exit(end)
        return [jobs]
