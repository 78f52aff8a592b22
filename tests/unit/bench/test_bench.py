"""The timings' own logic: what is resumed, what is projected."""

import json

import pytest

from llp.bench import device
from llp.bench.device import measure_missing
from llp.bench.measuring import Measured
from llp.bench.projection import FIXED_SIZE, MAIN, Grid, Rates, hours, project


def test_sections_that_are_done_are_not_measured_again(tmp_path, monkeypatch):
    path, calls = tmp_path / "bench" / "sections.json", []

    def section(name):
        def measure():
            calls.append(name)
            if name == "c" and calls.count("c") == 1:
                raise RuntimeError("cut off")
            return [Measured(name, 1.5, "s", "< 2")]

        return measure

    wanted = {name: section(name) for name in "abc"}
    with pytest.raises(RuntimeError, match="cut off"):
        measure_missing(wanted, path)
    done = measure_missing(wanted, path)
    assert calls == ["a", "b", "c", "c"]
    assert done["a"] == [{"what": "a", "value": 1.5, "unit": "s", "bar": "< 2"}]
    assert json.loads(path.read_text())["sections"] == done
    monkeypatch.setattr(device, "machine", lambda: {"device": "another"})
    measure_missing(wanted, path)
    assert calls[4:] == ["a", "b", "c"]


def test_number_of_runs_is_the_benchmarks():
    assert sum(grid.runs for grid in MAIN) == 2800
    assert sum(grid.runs for grid in FIXED_SIZE) == 6240


def test_hours_of_a_grid():
    grid = Grid("x", rows=1000, bag_datasets=9, methods=8)  # 360 runs
    assert hours(grid, epochs=2, rates=Rates(training=800, evaluation=200)) == pytest.approx(360 * (2 + 4) / 3600)
    lines = project(Rates(1e6, 1e7), bar="≤ 36")
    assert [line.bar for line in lines] == ["≤ 36", None, None, None]
    assert lines[1].value > 5 * lines[0].value
