"""The sweeper of grids with launchers that break: a point that kills its worker leaves the others."""

import importlib
from concurrent.futures.process import BrokenProcessPool

import pytest
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from joblib.externals.loky.process_executor import TerminatedWorkerError
from omegaconf import OmegaConf

from hydra_plugins._llp_batches import LostPointError

POINTS = [[f"seed={seed}"] for seed in range(8)]


class Launcher:
    """Runs points, and breaks with one of them."""

    def __init__(self, broken, error):
        self.broken, self.error, self.finished, self.launched = broken, error, set(), 0

    def launch(self, points, initial_job_idx):
        self.launched += 1
        assert points[0] == POINTS[initial_job_idx]
        for point in points:
            if point == self.broken:
                raise self.error
            self.finished.add(point[0])
        return [JobReturn(overrides=point, status=JobStatus.COMPLETED) for point in points]


@pytest.fixture
def jobs_of(tmp_path):
    Plugins.instance()  # loads Hydra's sweepers again, if they were imported before
    sweepers = importlib.import_module("hydra_plugins.llp_grid")

    def launch(launcher):
        sweeper = sweepers.GridSweeper(None)
        sweeper.launcher = launcher
        sweeper.config = OmegaConf.create({"hydra": {"sweep": {"dir": str(tmp_path)}}})
        return sweeper._launch(POINTS)

    return launch


@pytest.mark.parametrize("place", [0, 3, 7])
def test_point_that_kills_its_worker_leaves_the_others(jobs_of, place):
    assert issubclass(TerminatedWorkerError, BrokenProcessPool)
    launcher = Launcher(POINTS[place], TerminatedWorkerError("a worker was killed"))
    jobs = jobs_of(launcher)
    assert [job.overrides for job in jobs] == POINTS
    assert [job.status == JobStatus.FAILED for job in jobs] == [number == place for number in range(8)]
    assert isinstance(jobs[place]._return_value, LostPointError)
    assert len(launcher.finished) == 7
    assert launcher.launched == 1 + 2 * 3  # halves of 8, 4 and 2


def test_launcher_that_cannot_launch_is_not_asked_again(jobs_of):
    launcher = Launcher(POINTS[0], RuntimeError("no such partition"))
    jobs = jobs_of(launcher)
    assert launcher.launched == 1
    assert {str(job._return_value) for job in jobs} == {"RuntimeError: no such partition"}
