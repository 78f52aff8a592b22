"""The timings' own logic: what is projected."""

from benchmarks.projection import FIXED_SIZE, MAIN, Rates, project


def test_number_of_runs_is_the_benchmarks():
    assert sum(grid.runs for grid in MAIN) == 2800
    assert sum(grid.runs for grid in FIXED_SIZE) == 6240


def test_the_bar_is_on_the_main_tables_at_early_stopping():
    lines = project(Rates(1e6, 1e7), bar="≤ 36")
    assert [line.bar for line in lines] == ["≤ 36", None, None, None]
    assert lines[1].value > 5 * lines[0].value
