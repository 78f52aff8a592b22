"""SIGINT, SIGTERM and SIGKILL at a command: one line, the signal's exit code, no process left, a checkpoint kept."""

import os
import re
import signal
import subprocess
import time
from typing import NamedTuple

import pytest

from tests.helpers.commands import TINY

pytestmark = pytest.mark.stops

LONG = (*TINY[:-1], "trainer.max_epochs=2000", "trainer.patience=2000", "checkpoint_minutes=0")
GRID = ("-m", *LONG, "method=dllp_bce,dllp_mae,dllp_mse", "fold=0", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
KEYS = ("dataset=synthetic", "dataset.rows=20000", "dataset.vocab_fraction=0.01", "bag_sizes=[64]")


@pytest.fixture(autouse=True)
def heard():
    """A process started in the background may have been told to ignore Ctrl+C, and would pass that on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Ended(NamedTuple):
    code: int
    out: str
    err: str
    group: int


@pytest.fixture
def stop(command):
    """Start a command in a process group of its own, and send it a signal once something has begun."""
    groups = []

    def run(number, begun, *arguments, module="llp.train", to_group=False):
        process = command.start(*arguments, module=module, own_group=True)
        groups.append(process.pid)
        deadline = time.monotonic() + 120
        while not begun() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        (os.killpg if to_group else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=90)  # also the workers', which hold the pipes
        return Ended(process.returncode, out, err, process.pid)

    yield run
    for group in groups:
        if alive(group):
            os.killpg(group, signal.SIGKILL)


def alive(group):
    """Whether a process of the group runs."""
    listed = subprocess.run(["ps", "-eo", "pgid,stat"], capture_output=True, text=True, check=True).stdout
    return any(line.split()[0] == str(group) and "Z" not in line.split()[1] for line in listed.splitlines()[1:])


def soon_gone(group):
    """Whether no process of the group runs, or all end in some seconds."""
    deadline = time.monotonic() + 15
    while alive(group) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not alive(group)


def checkpoints(command):
    return list(command.outputs_dir.rglob("resume.ckpt"))


def assert_stopped(ended, number):
    assert ended.code == 128 + number, ended.err
    for word in ("Traceback", "Exception ignored", "Logging error"):
        assert word not in ended.out + ended.err


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, 1), (signal.SIGTERM, 0)])
def test_training(command, stop, number, workers):
    ended = stop(number, lambda: checkpoints(command), *LONG, f"num_workers={workers}", to_group=bool(workers))
    assert_stopped(ended, number)
    assert f"stopped by {number.name}; the same command resumes the run" in ended.out
    assert len(checkpoints(command)) == 1
    assert list(command.outputs_dir.rglob("error.json")) == []
    assert soon_gone(ended.group)


@pytest.mark.parametrize(
    ("number", "module"),
    [(signal.SIGTERM, "llp.train"), (signal.SIGINT, "llp.prepare"), (signal.SIGINT, "llp.analyze")],
)
def test_while_a_table_is_made(stop, number, module, tmp_path):
    made = tmp_path / "made"
    big = ("dataset=synthetic", "dataset.rows=20000000", f"data_dir={made}")
    ended = stop(number, lambda: list(made.glob("*")), *big, module=module)
    assert_stopped(ended, number)
    again = "starts over" if module == "llp.prepare" else "resumes"
    assert ended.err == f"stopped by {number.name}; the same command {again}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_analysis(command, stop, number):
    stored = command.outputs_dir / "analysis" / "synthetic" / "keys" / "bags"
    ended = stop(number, lambda: list(stored.glob("*.json")), *KEYS, module="llp.analyze")
    assert_stopped(ended, number)
    assert ended.err == f"stopped by {number.name}; the same command resumes\n"


@pytest.mark.parametrize(
    ("number", "to_group"),
    [(signal.SIGTERM, False), (signal.SIGINT, True), pytest.param(signal.SIGINT, False, marks=pytest.mark.slow)],
)
def test_workers_of_a_joblib_grid_stop_with_it(command, stop, number, to_group):
    ended = stop(number, lambda: len(checkpoints(command)) == 2, *GRID, to_group=to_group)
    assert_stopped(ended, number)
    assert soon_gone(ended.group)
    assert_runs_can_go_on(command)


def test_workers_of_a_joblib_grid_that_is_killed_stop_soon(command, stop):
    ended = stop(signal.SIGKILL, lambda: len(checkpoints(command)) == 2, *GRID)
    assert ended.code == -signal.SIGKILL
    assert "Traceback" not in ended.out + ended.err
    assert soon_gone(ended.group)
    assert_runs_can_go_on(command)


def assert_runs_can_go_on(command):  # two of the three points
    logs = [path.read_text() for path in command.outputs_dir.rglob("run.log")]
    assert len(logs) == 2
    assert all(re.search(r"stopped by SIG(INT|TERM); the same command resumes the run\n$", text) for text in logs)
    assert len(checkpoints(command)) == 2
    assert list(command.outputs_dir.rglob("error.json")) == []
    assert command.results() == {}
