"""The open suite's command, killed on the way."""

import os
import signal
import time

import pytest

from llp.runs.record import RunRecord
from tests.helpers.commands import small_suite

METHODS = ("dllp_bce", "ot_llp")


@pytest.fixture
def part(tmp_path):
    """Arguments that train two methods on a small suite."""
    return [*small_suite(tmp_path / "conf"), "bag_dataset=tiny_random_64", f"method={','.join(METHODS)}",
            "trainer.max_epochs=1"]  # fmt: skip


def finished(outputs_dir):
    """When each finished run was written."""
    return {path.parent: path.stat().st_mtime_ns for path in outputs_dir.rglob("result.json")}


@pytest.mark.stops
def test_suite_that_is_killed_goes_on_where_it_was(command, part):
    seen = {}
    for enough in (2, 8):  # of 5 of dllp_bce, and 10 of ot_llp with its first stages
        with command.start(*part, module="benchmarks.suite", own_group=True) as process:
            while process.poll() is None and len(finished(command.outputs_dir)) < enough:
                time.sleep(0.2)
            assert process.poll() is None, process.stderr.read()
            os.killpg(process.pid, signal.SIGKILL)
        seen |= finished(command.outputs_dir)
    ended = command(*part, module="benchmarks.suite")
    assert ended.returncode == 0, ended.stderr
    found = finished(command.outputs_dir)
    assert seen.items() <= found.items()
    records = [RunRecord.read(folder / "result.json") for folder in found]
    for method in METHODS:
        own = [record for record in records if record.method == method]
        assert {record.fold for record in own} == set(range(5))
        assert all(record.protocol == "holdout" for record in own)


@pytest.mark.stops
def test_suite_that_is_told_to_end_ends_its_training(command, part):
    with command.start(*part, module="benchmarks.suite", own_group=True) as process:
        while process.poll() is None and not finished(command.outputs_dir):
            time.sleep(0.2)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert said.splitlines()[-1] == "stopped by SIGTERM; the same command resumes"
    ended = finished(command.outputs_dir)
    time.sleep(10)  # in which a training that was left behind would finish runs
    assert finished(command.outputs_dir) == ended
