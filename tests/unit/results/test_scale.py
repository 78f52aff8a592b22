"""Large outputs folders: time and memory of a whole report grow slowly enough."""

import subprocess
import sys

import pytest

from tests.helpers.grids import write_analysis, write_grid

KEYS = [f"C{i}_C{j}" for i in range(1, 31) for j in range(i + 1, 32)]
METHODS = ("dllp_bce", "dllp_mse", "genbags", "easy_llp", "ot_llp", "sim_llp", "soft_erot_llp", "upm", "instance_bce")


# a child's ru_maxrss begins at what its parent holds when it forks; VmHWM is the program's own
MEASURED = """
import os, re, sys
from pathlib import Path
from llp import report
sys.argv = ["llp.report", *sys.argv[1:]]
report.main()
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(sum(os.times()[:2]), peak)
"""


def measured_report(command, tmp_path, n_runs, *arguments):
    """Report on a made grid in a process of its own: its CPU seconds and its peak memory in bytes."""
    keys = KEYS[: n_runs // (5 * len(METHODS))]
    write_grid(tmp_path / "outputs", dataset="mine", keys=keys, methods=METHODS, curves=n_runs <= 3000)
    write_analysis(tmp_path / "outputs", dataset="mine", keys=keys)
    program = [sys.executable, "-c", MEASURED, *arguments]
    done = subprocess.run(program, cwd=command.cwd, env=command.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Runs: {len(keys) * len(METHODS) * 5} finished" in done.stdout
    seconds, memory = done.stdout.splitlines()[-1].split()
    return float(seconds), int(memory)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # what is bounded is its CPU time
def test_twenty_thousand_records(command, tmp_path):
    seconds, memory = measured_report(command, tmp_path, 20_000)
    assert seconds < 60
    assert memory < 2e9
