"""The open suite's command, killed on the way."""

import signal
import time

import pytest

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
def test_suite_that_is_told_to_end_ends_its_training(command, part):
    with command.start(*part, module="benchmarks.suite", own_group=True) as process:
        while process.poll() is None and not finished(command.outputs_dir):
            time.sleep(0.2)
        process.terminate()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    # once: by the run that it stops, or between two runs by their command
    assert (out + err).count("stopped by SIGTERM; the same command resumes") == 1
    ended = finished(command.outputs_dir)
    time.sleep(10)  # in which a training that was left behind would finish runs
    assert finished(command.outputs_dir) == ended
