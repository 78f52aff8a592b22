"""Hydra's plugin of this project: it loads sweepers from this namespace only."""

import logging
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf

from hydra_plugins._llp_batches import LostPointError, lost

log = logging.getLogger(__name__)


class GridSweeper(BasicSweeper):
    """Hydra's basic sweeper, which checks all points before the first one and launches those that are not finished.

    A point that fails leaves the others; at the end all that failed are reported, and the command's exit code is 1.
    """

    def sweep(self, arguments: list[str]) -> Any:
        """See `Sweeper.sweep`."""
        from llp.config.points import Multirun
        from llp.errors import InputError
        from llp.runs.benchmark import expand_choices
        from llp.runs.failures import end_of_grid
        from llp.runs.grid import points_to_launch

        assert self.config is not None
        assert self.hydra_context is not None
        loader: Any = self.hydra_context.config_loader
        multirun = Multirun(loader, self.config)
        try:
            expand_choices(multirun)
            files = multirun.config_files()
            launched = points_to_launch(multirun, multirun.points(), record=True)
            jobs = self._launch(launched)
            lost = [i for i, job in enumerate(jobs) if isinstance(job._return_value, LostPointError)]
            if lost:  # some of those whose worker left no outcome may have finished all the same
                left = points_to_launch(multirun, [launched[i] for i in lost], record=False)
                for i in lost:
                    if launched[i] not in left:
                        jobs[i].status = JobStatus.COMPLETED
        except InputError as error:
            sys.exit(str(error))
        if edited := sorted(str(path) for path, _ in files.items() ^ multirun.config_files().items()):
            names = ", ".join(dict.fromkeys(edited))
            log.warning("%s changed while the grid ran: points of after that have another config and folder", names)
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
