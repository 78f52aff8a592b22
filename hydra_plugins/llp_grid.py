"""Hydra's plugin of this project: it loads sweepers from this namespace only."""

import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf


class GridSweeper(BasicSweeper):
    """Hydra's basic sweeper, which checks all points before the first one and launches those that are not finished.

    A point that fails leaves the others; at the end all that failed are told, and the command's exit code is 1.
    """

    def sweep(self, arguments: list[str]) -> Any:
        """See `Sweeper.sweep`."""
        from llp.errors import InputError
        from llp.runs.failures import end_of_grid
        from llp.runs.grid import points_of, points_to_launch

        assert self.config is not None
        assert self.hydra_context is not None
        loader: Any = self.hydra_context.config_loader
        try:
            launched = points_to_launch(loader, self.config, points_of(loader, self.config), record=True)
            jobs = self._launch(launched)
            self._look_for_lost(launched, jobs)
        except InputError as error:
            sys.exit(str(error))
        if end := end_of_grid(launched, jobs):
            sys.exit(end)
        return [jobs]

    def _launch(self, points: list[list[str]]) -> list[JobReturn]:
        assert self.config is not None
        jobs: list[JobReturn] = []
        if points:
            folder = Path(self.config.hydra.sweep.dir)
            folder.mkdir(parents=True, exist_ok=True)
            OmegaConf.save(self.config, folder / "multirun.yaml")
        for batch in self.split_overrides_to_chunks(points, self.max_batch_size) if points else ():
            jobs += self._launch_batch(batch, len(jobs))
        return jobs

    def _launch_batch(self, points: list[list[str]], first: int) -> list[JobReturn]:
        """Launch points; where one of them breaks joblib's workers, halves of them, until it stands alone."""
        from llp.errors import InputError
        from llp.runs.batches import lost
        from llp.runs.failures import reason

        assert self.launcher is not None
        try:
            return list(self.launcher.launch(points, initial_job_idx=first))
        except InputError:
            raise
        except BrokenProcessPool as error:
            if len(points) == 1:
                return lost(points, reason(error))
        except Exception as error:
            return lost(points, reason(error))
        half = len(points) // 2  # finished points are skipped
        return [*self._launch_batch(points[:half], first), *self._launch_batch(points[half:], first + half)]

    def _look_for_lost(self, points: list[list[str]], jobs: list[JobReturn]) -> None:
        """Find the points that finished all the same, of those whose worker left no outcome."""
        from llp.runs.batches import LostPointError
        from llp.runs.grid import points_to_launch

        assert self.hydra_context is not None
        assert self.config is not None
        lost = [i for i, job in enumerate(jobs) if isinstance(job._return_value, LostPointError)]
        if lost:
            loader: Any = self.hydra_context.config_loader
            left = points_to_launch(loader, self.config, [points[i] for i in lost], record=False)
            for i in lost:
                if points[i] not in left:
                    jobs[i].status = JobStatus.COMPLETED
