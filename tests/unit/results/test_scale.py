"""Large outputs folders: time and memory of a whole report grow slowly enough."""

import subprocess
import sys

import pytest

from tests.helpers.grids import write_analysis, write_grid

METHODS = ("dllp_bce", "dllp_mse", "genbags", "easy_llp", "ot_llp", "sim_llp", "soft_erot_llp", "upm", "instance_bce")
KEYS = [f"C{i}_C{j}" for i in range(1, 31) for j in range(i + 1, 32)][: 20_000 // (5 * len(METHODS))]


# a child's ru_maxrss begins at what its parent holds when it forks; VmHWM is the program's own
MEASURED = """
import os, re
from pathlib import Path
from llp import report
report.main()
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(sum(os.times()[:2]), peak)
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)  # what is bounded is its CPU time
def test_twenty_thousand_records(command, tmp_path):
    write_grid(tmp_path / "outputs", dataset="mine", keys=KEYS, methods=METHODS, curves=False)
    write_analysis(tmp_path / "outputs", dataset="mine", keys=KEYS)
    program = [sys.executable, "-c", MEASURED]
    done = subprocess.run(program, cwd=command.cwd, env=command.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Runs: {len(KEYS) * len(METHODS) * 5} finished" in done.stdout
    seconds, memory = map(float, done.stdout.splitlines()[-1].split())
    assert seconds < 60
    assert memory < 2e9
