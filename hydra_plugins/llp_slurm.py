"""Hydra's launcher of this project for Slurm: points of a grid in batches, each batch a task of a job array."""

import logging
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from omegaconf import OmegaConf

from hydra_plugins._llp_batches import BatchLauncher, lost, numbered

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5  # between two looks for outcomes
_ASK_SECONDS = 5.0  # between two questions to Slurm
_MISSED = 2  # so often a job is not in the queue before it is given up: its outcome may come late over a network


class SlurmLauncher(BatchLauncher):
    """Runs points as tasks of a Slurm job array, with `submitit`.

    A task runs `points_per_job`, one after the other, so that what takes seconds to import is imported once; a job
    resumes `max_num_timeout` times after its time is up. `parameters` are those of `submitit`'s executor for Slurm, see
    conf/hydra/launcher/submitit_slurm.yaml; those that are null are left to the cluster.
    """

    def __init__(self, points_per_job: int, max_num_timeout: int, **parameters: Any) -> None:
        self._size = points_per_job
        self._max_num_timeout = max_num_timeout
        # as instantiated: lists and mappings are OmegaConf's
        self._parameters = {
            name: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
            for name, value in parameters.items()
        }

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """See `Launcher.launch`."""
        folder = self.begin() / "slurm"
        executor = self._executor(folder)
        points = numbered(job_overrides, initial_job_idx)
        batches = [points[start : start + self._size] for start in range(0, len(points), self._size)]
        log.info("%d points in %d Slurm jobs, whose logs go to %s", len(job_overrides), len(batches), folder)
        jobs = executor.map_array(_Batch(self.task), batches)
        try:
            return [job for outcome in _outcomes(jobs, batches) for job in outcome]
        except BaseException:  # a signal, which stops the grid
            subprocess.run(["scancel", jobs[0].job_id.split("_")[0]], check=False)
            raise

    def _executor(self, folder: Path) -> Any:
        from llp.config.launchers import SlurmOptions, check_plugin
        from llp.errors import InputError

        options = {"points_per_job": self._size, "max_num_timeout": self._max_num_timeout, **self._parameters}
        check_plugin("hydra.launcher", SlurmOptions, options)
        try:
            from submitit import SlurmExecutor
        except ImportError:
            need = "submitit, which is not installed: pip install 'llp-bench[slurm]'"
            raise InputError(f"hydra/launcher=submitit_slurm needs {need}") from None
        if shutil.which("sbatch") is None:
            raise InputError("hydra/launcher=submitit_slurm needs Slurm's commands, but there is no sbatch here")
        executor = SlurmExecutor(folder, max_num_timeout=self._max_num_timeout)
        cpus = [f"--cpus-per-task={self._parameters['cpus_per_task']}"]  # which srun does not take from its job
        given = {name: value for name, value in self._parameters.items() if value is not None}
        executor.update_parameters(**given, srun_args=cpus)
        return executor


class _Batch:
    """What a task of the array calls; `submitit` looks for `checkpoint` before a job's time is up."""

    def __init__(self, task: Any) -> None:
        self._task = task

    def __call__(self, points: Any) -> list[JobReturn]:
        outcome: list[JobReturn] = self._task.run(points)
        return outcome

    def checkpoint(self, points: Any) -> Any:
        """The same batch again: finished points are skipped, the one under way resumes from its checkpoint."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, points)


def _outcomes(jobs: Sequence[Any], batches: Sequence[Any]) -> list[list[JobReturn]]:
    """Wait for the jobs; one that left the queue without an outcome is lost."""
    found: dict[int, list[JobReturn]] = {}
    missed, asked = [0] * len(jobs), time.monotonic()
    while len(found) < len(jobs):
        time.sleep(_LOOK_SECONDS)
        queued = None
        if time.monotonic() - asked > _ASK_SECONDS:
            queued, asked = _queued(jobs[0].job_id.split("_")[0]), time.monotonic()
        for number, (job, batch) in enumerate(zip(jobs, batches, strict=True)):
            if number in found:
                continue
            if job.paths.result_pickle.exists():
                found[number] = _outcome(job, batch)
            elif queued is not None:
                missed[number] = 0 if job.job_id in queued else missed[number] + 1
                if missed[number] == _MISSED:
                    why = f"Slurm job {job.job_id} ended without an outcome, see {job.paths.stderr}"
                    found[number] = lost([overrides for _, overrides in batch], why)
    return [found[number] for number in range(len(jobs))]


def _outcome(job: Any, batch: Any) -> list[JobReturn]:
    from submitit.core.utils import pickle_load

    kind, value = pickle_load(job.paths.result_pickle)
    if kind == "success":
        outcome: list[JobReturn] = value
        return outcome
    return lost([overrides for _, overrides in batch], str(value).strip().splitlines()[-1])


def _queued(array: str) -> set[str] | None:
    """The tasks of an array that wait or run; None where Slurm does not answer."""
    command = ["squeue", "--noheader", "--array", "--format=%i", f"--jobs={array}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "Invalid job id" not in done.stderr:
        return None
    return set(done.stdout.split())
