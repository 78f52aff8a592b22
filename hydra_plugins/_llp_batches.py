"""Points of a grid in a worker process that a launcher started somewhere: several of them, for one import."""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, configure_log, filter_overrides, run_job, setup_globals
from hydra.errors import CompactHydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from llp import signals
from llp.command import outlive_readers
from llp.runs.failures import reason

log = logging.getLogger(__name__)

Numbered = tuple[int, list[str]]


class LostPointError(CompactHydraException):
    """The worker of a point ended without an outcome of it."""


@dataclass(frozen=True)
class PointTask:
    """All that a worker needs to run points of a grid: what Hydra gives a launcher."""

    hydra_context: HydraContext  # with the loader of the points' configs
    config: DictConfig  # the multirun's
    task_function: TaskFunction  # runs a point
    singletons: dict[Any, Any]  # state of Hydra in the process of the command
    folder: str  # where the command was started, which relative paths mean

    def run(self, points: Sequence[Numbered]) -> list[JobReturn]:
        """Run points, by number and overrides, one after the other in this process, and tell what became of each.

        A signal ends the process with the run that it finds; that run resumes from its checkpoint when it is
        started again.
        """
        with suppress(FileNotFoundError):
            os.chdir(self.folder)
        Singleton.set_state(self.singletons)
        setup_globals()
        outlive_readers()
        signals.listen()
        jobs = [self._run(number, overrides) for number, overrides in points]
        for job in jobs:
            job.cfg = job.hydra_cfg = None  # two configs a point, which nobody reads
            if job.status == JobStatus.FAILED:  # an exception of a user's class may not survive the way back
                job.return_value = CompactHydraException(reason(job._return_value))
        return jobs

    def _run(self, number: int, overrides: list[str]) -> JobReturn:
        config = self.hydra_context.config_loader.load_sweep_config(self.config, overrides)
        with open_dict(config.hydra.job):
            config.hydra.job.id = config.hydra.job.num = number
        return run_job(
            hydra_context=self.hydra_context,
            task_function=self.task_function,
            config=config,
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
        )


class BatchLauncher(Launcher):
    """A launcher whose workers run points by a `PointTask`."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """See `Launcher.setup`."""
        self.config = config
        self.task = PointTask(hydra_context, config, task_function, Singleton.get_state(), os.getcwd())

    def begin(self) -> Path:
        """Set up Hydra's logging; returns the multirun's folder, for what the launcher writes."""
        configure_log(self.config.hydra.hydra_logging, self.config.hydra.verbose)
        folder = Path(self.config.hydra.sweep.dir).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def numbered(points: Sequence[Sequence[str]], first: int) -> list[Numbered]:
    """Points with their numbers in the grid, which are logged."""
    found = [(first + place, list(overrides)) for place, overrides in enumerate(points)]
    for number, overrides in found:
        log.info("\t#%d : %s", number, " ".join(filter_overrides(overrides)))
    return found


def lost(points: Sequence[Sequence[str]], why: str) -> list[JobReturn]:
    """What became of points whose worker left no outcome."""
    return [
        JobReturn(overrides=list(overrides), status=JobStatus.FAILED, _return_value=LostPointError(why))
        for overrides in points
    ]
