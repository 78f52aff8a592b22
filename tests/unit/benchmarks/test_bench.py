"""The timings' own logic: what is projected."""

import pytest

from benchmarks.projection import FIXED_SIZE, MAIN, Grid, Rates, hours, project


def test_number_of_runs_is_the_benchmarks():
    assert sum(grid.runs for grid in MAIN) == 2800
    assert sum(grid.runs for grid in FIXED_SIZE) == 6240


def test_hours_of_a_grid():
    grid = Grid("x", rows=1000, bag_datasets=9, methods=8)  # 360 runs
    assert hours(grid, epochs=2, rates=Rates(training=800, evaluation=200)) == pytest.approx(360 * (2 + 4) / 3600)
    lines = project(Rates(1e6, 1e7), bar="≤ 36")
    assert [line.bar for line in lines] == ["≤ 36", None, None, None]
    assert lines[1].value > 5 * lines[0].value
