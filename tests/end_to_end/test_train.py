"""A grid: its records, and its second start."""

import os

from tests.helpers.commands import TINY

GRID = [
    "-m",
    *TINY[:3],
    "method=group_prior,dllp_bce",
    "trainer.max_epochs=1",
    "seed=1,2",
    "grouping_key=C1_C2,random_128",
]


def test_every_point_has_a_record_and_a_second_start_skips_them(command):
    first = command(*GRID, "fold=0,1")
    assert first.returncode == 0, first.stderr
    points = {(r["grouping_key"], r["method"], r["fold"], r["seed"]) for r in command.results().values()}
    keys, methods = ("C1_C2", "random_128"), ("group_prior", "dllp_bce")
    assert points == {
        (key, method, fold, seed) for key in keys for method in methods for fold in (0, 1) for seed in (1, 2)
    }
    assert first.stdout.count("epoch  0") == 8  # progress of those that train
    assert "Traceback" not in first.stdout + first.stderr
    before = {path: path.stat().st_mtime_ns for path in command.outputs_dir.rglob("result.json")}
    begin = os.times().children_user
    second = command(*GRID, "fold=0,1")
    assert os.times().children_user - begin < 20  # not the wall clock: other work on the machine does not count
    assert second.returncode == 0, second.stderr
    assert "16 of 16 points are finished" in second.stdout
    assert {path: path.stat().st_mtime_ns for path in command.outputs_dir.rglob("result.json")} == before
