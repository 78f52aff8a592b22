"""The same grid under every launcher ends with the same records, also when its processes are killed."""

import importlib.util
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.datasets.preparation import prepare_table
from tests.helpers.commands import TINY, Command
from tests.helpers.composed import tiny_config
from tests.helpers.cutting import contents
from tests.helpers.slurm import MISSING, SlurmNode

SMALL = ("-m", *TINY, "method=ot_llp,soft_erot_llp,group_prior", "fold=0,1", "checkpoint_minutes=0")
# 60 points; ot_llp and soft_erot_llp start from the same runs of dllp_bce
LARGE = ("-m", *TINY, "method=ot_llp,soft_erot_llp,group_prior", "grouping_key=random_64,C1_C2", "fold=0,1,2,3,4",
         "seed=0,1", "trainer.max_epochs=2", "checkpoint_minutes=0")  # fmt: skip
KILLS = 20

needs_slurm = [pytest.mark.slurm, pytest.mark.skipif(bool(MISSING), reason=f"needs Slurm's {', '.join(MISSING)}")]
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")
LAUNCHERS = {
    "basic": (),
    "joblib": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
    "ray": ("hydra/launcher=ray", "hydra.launcher.num_cpus=2"),
    "slurm": ("hydra/launcher=submitit_slurm", "hydra.launcher.points_per_job=8"),
}
SLOW = [pytest.param("joblib", marks=pytest.mark.slow)]
OTHERS = [pytest.param("ray", marks=[pytest.mark.slow, needs_ray]), pytest.param("slurm", marks=needs_slurm)]


class Launched:
    """A grid under one launcher, in a place of its own; its Slurm, where it needs one, runs meanwhile."""

    def __init__(self, launcher, grid, data_dir, folder, slurm):
        self.arguments = (*grid, *LAUNCHERS[launcher])
        self.launcher = launcher
        self.slurm = slurm
        self.outputs_dir = folder / launcher
        self.command = Command(data_dir, self.outputs_dir, folder, timeout=1800)
        if slurm is not None:
            self.command.env |= slurm.env

    def end(self):
        """Let the grid come to its end."""
        done = self.command(*self.arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return done

    def kill(self, after):
        """Start the grid and kill all its processes after some seconds; says whether it was still at work."""
        killed = self.command.killed(after, *self.arguments)
        if self.slurm is not None:
            self.slurm.run("scancel", "--signal=KILL", "--full", "--user=root", check=False)
            self.slurm.run("scancel", "--user=root", check=False)
            self.slurm.wait_for(lambda: not self.slurm.jobs(), 60)
        return killed

    def finished(self):
        """Times at which the records were written."""
        return {path: path.stat().st_mtime_ns for path in self.outputs_dir.rglob("result.json")}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A Slurm for the module's tests, started by the first one that needs it."""
    started = []

    def start():
        if not started:
            started.append(SlurmNode(tmp_path_factory.mktemp("slurm")).__enter__())
        return started[0]

    yield start
    for one in started:
        one.__exit__(None, None, None)


@pytest.fixture(scope="module")
def launched(data_dir, tmp_path_factory, slurm):
    """A grid under a launcher, and what the basic launcher makes of it."""
    config = tiny_config(data_dir, tmp_path_factory.mktemp("tiny"))
    # else the record of a grid's first start knows no hashes
    prepare_table(check_config(config, TrainConfig).dataset, data_dir)
    expected = {}

    def make(launcher, grid):
        if grid not in expected:
            basic = Launched("basic", grid, data_dir, tmp_path_factory.mktemp("basic"), None)
            basic.end()
            expected[grid] = contents(basic.outputs_dir)
        node = slurm() if launcher.startswith("slurm") else None
        return Launched(launcher, grid, data_dir, tmp_path_factory.mktemp(launcher), node), expected[grid]

    return make


@pytest.mark.parametrize("launcher", OTHERS)
def test_small_grid_ends_as_one_run_after_the_other(launched, launcher):
    grid, expected = launched(launcher, SMALL)
    grid.end()
    assert contents(grid.outputs_dir) == expected
    assert {path.read_text() for path in grid.outputs_dir.rglob("attempt")} == {"1"}  # a shared stage too


@pytest.mark.parametrize("launcher", [*SLOW, *OTHERS])
@pytest.mark.timeout(3600)
def test_large_grid_that_is_killed_often_ends_as_one_run_after_the_other(launched, launcher):
    grid, expected = launched(launcher, LARGE)
    begin = time.monotonic()
    grid.end()
    seconds = time.monotonic() - begin
    assert contents(grid.outputs_dir) == expected
    assert len(grid.finished()) == 60 + 20
    killed = 0
    while killed < KILLS:
        shutil.rmtree(grid.outputs_dir)
        killed += kill_often(grid, expected, KILLS - killed, seconds / 4)


def kill_often(grid, expected, most, longest):
    """Kill a grid until it comes to its end, `most` times; nothing is trained twice. Says how often it was killed."""
    draw, killed, kept = random.Random(f"{grid.launcher} {most}"), 0, {}
    while killed < most and grid.kill(after=draw.uniform(0, longest)):
        killed += 1
        now = grid.finished()
        assert kept.items() <= now.items()
        kept = now
    grid.end()
    assert kept.items() <= grid.finished().items()
    assert contents(grid.outputs_dir) == expected
    return killed


@pytest.mark.stops
def test_small_grid_that_is_killed_ends_as_one_run_after_the_other(launched):
    grid, expected = launched("joblib", SMALL)
    assert kill_often(grid, expected, 2, 12) > 0


@needs_ray
@pytest.mark.slow
def test_points_of_killed_workers_of_ray_are_started_again(launched):
    grid, expected = launched("ray", (*SMALL, "trainer.max_epochs=4"))
    process = grid.command.start(*grid.arguments, own_group=True)
    killed = 0
    while process.poll() is None and killed < 2:
        time.sleep(0.2)
        if len(grid.finished()) > killed:
            killed += kill_worker()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert killed == 2
    assert contents(grid.outputs_dir) == expected


def kill_worker():
    """Kill a worker of Ray that runs a point, if there is one; says how many."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        if line.split(maxsplit=1)[1].startswith("ray::_run"):
            os.kill(int(line.split()[0]), signal.SIGKILL)
            return 1
    return 0


@pytest.mark.slurm
@needs_slurm[1]
@pytest.mark.parametrize(
    "how", [("scontrol", "requeue"), ("scancel", "--signal=USR2")], ids=["preempted", "time is up"]
)
def test_slurm_job_that_goes_back_into_the_queue_goes_on_from_its_checkpoint(launched, slurm, how):
    long = ("-m", *TINY, "method=dllp_bce", "fold=0,1", "trainer.max_epochs=40", "trainer.patience=40",
            "checkpoint_minutes=0")  # fmt: skip
    grid, expected = launched("slurm", long)
    process = grid.command.start(*grid.arguments)
    node = slurm()
    node.wait_for(lambda: list(grid.outputs_dir.rglob("resume.ckpt")), 120)
    [job] = node.jobs("RUNNING")
    node.run(*how, job)
    node.wait_for(lambda: job in node.jobs("PENDING"), 60)
    time.sleep(3)  # what starts in the second of the requeue has a revoked credential, says Slurm, and fails
    node.run("scontrol", "update", f"JobId={job}", "StartTime=now")  # Slurm waits for two minutes otherwise
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert contents(grid.outputs_dir) == expected
    assert sorted(path.read_text() for path in grid.outputs_dir.rglob("attempt")) == ["1", "2"]


@pytest.mark.slurm
@needs_slurm[1]
def test_cancelled_slurm_job_is_told_with_its_points_and_the_others_finish(data_dir, tmp_path, slurm):
    long = ("-m", *TINY, "method=dllp_bce,dllp_mae", "fold=0", "trainer.max_epochs=200", "trainer.patience=200")
    grid = Launched("slurm", long, data_dir, tmp_path, slurm())
    process = grid.command.start(*grid.arguments, "hydra.launcher.points_per_job=1")
    grid.slurm.wait_for(lambda: len(list(grid.outputs_dir.rglob("run.log"))) == 2, 120)
    first = min(grid.slurm.jobs("RUNNING"))
    grid.slurm.run("scancel", first)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"failed: method=dllp_bce: Slurm job {first} ended without an outcome, see " in err
    assert [one["method"] for one in grid.command.results().values()] == ["dllp_mae"]


@pytest.mark.slurm
@needs_slurm[1]
def test_slurm_jobs_of_a_grid_that_is_stopped_are_cancelled(data_dir, tmp_path, slurm):
    long = ("-m", *TINY, "method=dllp_bce", "fold=0", "trainer.max_epochs=2000", "trainer.patience=2000")
    grid = Launched("slurm", long, data_dir, tmp_path, slurm())
    process = grid.command.start(*grid.arguments)
    grid.slurm.wait_for(lambda: list(grid.outputs_dir.rglob("metrics.csv")), 120)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert err == "stopped by SIGTERM; the same command resumes\n"
    grid.slurm.wait_for(lambda: not grid.slurm.jobs(), 30)
    [log] = grid.outputs_dir.rglob("run.log")
    assert log.read_text().endswith("stopped by SIGTERM; the same command resumes the run\n")
