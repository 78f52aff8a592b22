"""Large outputs folders: time and memory of a whole report grow slowly enough."""

import os
import sys

import pytest

from tests.helpers.grids import write_analysis, write_grid

KEYS = [f"C{i}_C{j}" for i in range(1, 31) for j in range(i + 1, 32)]
METHODS = ("dllp_bce", "dllp_mse", "genbags", "easy_llp", "ot_llp", "sim_llp", "soft_erot_llp", "upm", "instance_bce")


def measured_report(command, tmp_path, n_runs):
    """Report on a made grid in a process of its own: its CPU seconds and its peak memory in bytes."""
    keys = KEYS[: n_runs // (5 * len(METHODS))]
    write_grid(tmp_path / "outputs", dataset="mine", keys=keys, methods=METHODS, curves=n_runs <= 3000)
    write_analysis(tmp_path / "outputs", dataset="mine", keys=keys)
    with command.start(module="llp.report") as process:
        out, err = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)  # of this child alone, whatever the tests before have started
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, err
    assert f"Runs: {len(keys) * len(METHODS) * 5} finished" in out
    return used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.slow
def test_twenty_thousand_records(command, tmp_path):
    seconds, memory = measured_report(command, tmp_path, 20_000)
    assert seconds < 60
    assert memory < 2e9


def test_nine_hundred_records(command, tmp_path):
    seconds, memory = measured_report(command, tmp_path, 900)
    assert seconds < 60
    assert memory < 1e9
