"""Hydra's joblib launcher, whose processes can hold several runs each."""

from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn, configure_log
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from hydra_plugins.hydra_joblib_launcher.joblib_launcher import JoblibLauncher as OneByOne  # type: ignore[import-untyped]
from omegaconf import DictConfig


class JoblibLauncher(Launcher):
    """Runs points in processes of this machine; with `runs_at_once` above 1 so many side by side in each.

    Parameters
    ----------
    n_jobs : int
        Processes; below 0 as joblib counts: -1 is one for each core.
    batch_size, pre_dispatch, verbose
        Of `joblib.Parallel`.
    """

    def __init__(self, n_jobs: int, batch_size: int | str, pre_dispatch: int | str, verbose: int) -> None:
        self._options: dict[str, Any] = {"n_jobs": n_jobs, "batch_size": batch_size}
        self._options |= {"pre_dispatch": pre_dispatch, "verbose": verbose}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """See `Launcher.setup`."""
        self.hydra_context = hydra_context
        self.task_function = task_function
        self.config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """See `Launcher.launch`."""
        if self.config.runs_at_once == 1:
            one_by_one = OneByOne(**self._options)
            one_by_one.setup(hydra_context=self.hydra_context, task_function=self.task_function, config=self.config)
            jobs: Sequence[JobReturn] = one_by_one.launch(job_overrides, initial_job_idx)
            return jobs
        return self._side_by_side(job_overrides, initial_job_idx)

    def _side_by_side(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]

        from llp.runs.batches import PointTask, chunks, numbered, sweep_folder

        configure_log(self.config.hydra.hydra_logging, self.config.hydra.verbose)
        sweep_folder(self.config)
        batches = [*chunks(numbered(job_overrides, initial_job_idx), self.config.runs_at_once)]
        task = PointTask.of(self, processes=min(len(batches), effective_n_jobs(self._options["n_jobs"])))
        done = Parallel(**self._options | {"backend": "loky"})(delayed(_run)(task, batch) for batch in batches)
        return [job for jobs in done for job in jobs]


def _run(task: Any, points: Any) -> list[JobReturn]:
    from llp.command import launched

    with launched(raising=False):
        jobs: list[JobReturn] = task.run(points)
    return jobs
