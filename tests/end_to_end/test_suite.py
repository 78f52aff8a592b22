"""The open suite's command, killed on the way."""

import os
import signal
import time

import pytest

from benchmarks.suite import RATES
from llp.runs.record import RunRecord
from tests.helpers.commands import TINY

METHODS = ("dllp_bce", "ot_llp")
PART = (
    "bag_dataset=made_random_64", f"method={','.join(METHODS)}", "seed=0",
    *TINY[1:3], "hardware.accelerator=cpu", "trainer.max_epochs=1",
)  # fmt: skip


def finished(outputs_dir):
    """When each finished run was written."""
    return {path.parent: path.stat().st_mtime_ns for path in outputs_dir.rglob("result.json")}


@pytest.mark.stops
def test_suite_that_is_killed_goes_on_where_it_was(command):
    seen = {}
    for enough in (4, 10):  # of 8 on fold 0: while rates are searched for, and while folds are trained
        with command.start(*PART, module="benchmarks.suite", own_group=True) as process:
            while process.poll() is None and len(finished(command.outputs_dir)) < enough:
                time.sleep(0.2)
            assert process.poll() is None, process.stderr.read()
            os.killpg(process.pid, signal.SIGKILL)
        seen |= finished(command.outputs_dir)
    ended = command(*PART, module="benchmarks.suite")
    assert ended.returncode == 0, ended.stderr
    found = finished(command.outputs_dir)
    assert seen.items() <= found.items()
    records = [RunRecord.read(folder / "result.json") for folder in found]
    for method in METHODS:
        own = [record for record in records if record.method == method]
        assert {record.fold for record in own} == set(range(5))
        assert len({record.config_hash for record in own if record.fold == 0}) == len(RATES)
        assert all(record.protocol == "holdout" for record in own)


@pytest.mark.stops
def test_suite_that_is_told_to_end_ends_its_training(command):
    with command.start(*PART, module="benchmarks.suite", own_group=True) as process:
        while process.poll() is None and not finished(command.outputs_dir):
            time.sleep(0.2)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert said.splitlines()[-1] == "stopped by SIGTERM; the same command resumes"
    ended = finished(command.outputs_dir)
    time.sleep(10)  # in which a training that was left behind would finish runs
    assert finished(command.outputs_dir) == ended
