"""A grid: its records, its second start, and what is left of it."""

import os

import pytest

from tests.helpers.commands import TINY, Command

GRID = ["-m", *TINY, "grouping_key=fixed_C1_C2_64", "method=dllp_bce,group_prior"]  # and the five folds
SEEDS = ["-m", *TINY[:3], "method=group_prior", "fold=0", "seed=1,2", "grouping_key=C1_C2,random_128"]


@pytest.fixture(scope="module")
def grid(tmp_path_factory, data_dir):
    """The command after the first start of both grids, and the first one's answer."""
    place = tmp_path_factory.mktemp("grid")
    command = Command(data_dir, place / "outputs", place)
    done, seeds = command.many(GRID, SEEDS)
    assert (done.returncode, seeds.returncode) == (0, 0), done.stderr + seeds.stderr
    return command, done


def test_every_point_has_a_record(grid):
    command, done = grid
    points = sorted((r["grouping_key"], r["method"], r["fold"]) for r in command.results().values() if not r["seed"])
    assert points == [("fixed_C1_C2_64", method, fold) for method in ("dllp_bce", "group_prior") for fold in range(5)]
    assert done.stdout.count("epoch  0") == 5  # progress of those that train
    assert "Traceback" not in done.stdout + done.stderr


def test_second_start_skips_what_is_finished(grid):
    command, _ = grid
    before = {path: path.stat().st_mtime_ns for path in command.outputs_dir.rglob("result.json")}
    begin = os.times().children_user
    done = command(*GRID)
    assert os.times().children_user - begin < 20  # not the wall clock: other work on the machine does not count
    assert done.returncode == 0, done.stderr
    assert "10 of 10 points are finished" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in command.outputs_dir.rglob("result.json")} == before


def test_seeds_and_keys_sweep_too(grid):
    command, _ = grid
    points = sorted((r["grouping_key"], r["fold"], r["seed"]) for r in command.results().values() if r["seed"])
    assert points == [(key, 0, seed) for key in ("C1_C2", "random_128") for seed in (1, 2)]
