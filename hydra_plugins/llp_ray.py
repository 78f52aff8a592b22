"""Hydra's launcher of this project for Ray: each point is a task that a worker of the cluster runs."""

import logging
import os
from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn

from hydra_plugins._llp_batches import BatchLauncher, lost, numbered

log = logging.getLogger(__name__)

# environment variables of the command that its tasks have too, by their start
_TAKEN_ALONG = ("LLP_", "WANDB_", "OMP_NUM_THREADS", "PYTHONPATH")


class RayLauncher(BatchLauncher):
    """Runs points as tasks of a Ray cluster.

    Without the address of a running one it is started on this machine with `num_cpus`, and ends with the command. A
    task takes `cpus_per_run` and `gpus_per_run`, GPUs by fractions too, and is started again whose worker was killed,
    up to `retries` times.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """See `Launcher.launch`."""
        self.begin()
        ray = self._ray()
        points = numbered(job_overrides, initial_job_idx)
        try:
            task = ray.put(self.task)
            cpus, gpus = self._options["cpus_per_run"], self._options["gpus_per_run"]
            run = ray.remote(_run).options(num_cpus=cpus, num_gpus=gpus, max_retries=self._options["retries"])
            results = [run.remote(task, point) for point in points]
            return [self._outcome(ray, result, point) for result, point in zip(results, points, strict=True)]
        finally:
            ray.shutdown()

    def _ray(self) -> Any:
        """Ray, connected to the cluster."""
        from llp.config.launchers import RayOptions, check_plugin
        from llp.errors import InputError

        check_plugin("hydra.launcher", RayOptions, self._options)
        os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # lines of different runs are alike
        try:
            import ray
        except ImportError:
            raise InputError(
                "hydra/launcher=ray needs Ray, which is not installed: pip install 'llp-bench[ray]'"
            ) from None
        environment = {name: value for name, value in os.environ.items() if name.startswith(_TAKEN_ALONG)}
        address = self._options["address"]
        own: dict[str, Any] = {} if address else {"num_cpus": self._options["num_cpus"], "include_dashboard": False}
        try:
            ray.init(address or "local", runtime_env={"env_vars": environment}, **own)
        except ConnectionError as error:
            raise InputError(f"hydra.launcher.address={address}: {error}") from None
        return ray

    @staticmethod
    def _outcome(ray: Any, result: Any, point: tuple[int, list[str]]) -> JobReturn:
        """Wait for a task's point; it is lost where its workers were killed more often than it is started again."""
        from llp.runs.failures import reason

        try:
            job: JobReturn = ray.get(result)
            return job
        except ray.exceptions.RayError as error:
            return lost([point[1]], reason(getattr(error, "cause", None) or error))[0]


def _run(task: Any, point: Any) -> JobReturn:
    job: JobReturn = task.run([point])[0]
    return job
