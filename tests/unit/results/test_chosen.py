"""Which datasets and methods a report is of."""

import pytest

from llp.errors import InputError
from llp.results.chosen import MOST_UNSTARTED, datasets_of, filtered
from llp.results.collect import collect
from llp.runs.book import AskedGrid, write_asked
from llp.runs.point import Point
from tests.helpers.records import write_run


def test_what_a_grid_asked_for_is_known_before_its_first_run(tmp_path):
    write_run(tmp_path, 0.6, fold=0)
    write_asked(tmp_path, AskedGrid.of("mine", [Point("asked", "random_64", "upm", 0, 0)]))
    collected = collect(tmp_path)
    there, left_out = datasets_of(tmp_path, collected, None)
    assert "asked" in there
    assert left_out == []
    assert datasets_of(tmp_path, collected, ["asked"]) == (["asked"], [])
    assert filtered(tmp_path, collected, {"method": ["upm"]}).runs.is_empty()
    with pytest.raises(InputError, match=r"^Invalid method=nothing: no run has it; write method=\[.*upm.*\]"):
        filtered(tmp_path, collected, {"method": ["nothing"]})


def test_many_datasets_of_which_nothing_was_started_are_counted_and_not_reported_on(tmp_path):
    write_run(tmp_path, 0.6, dataset="zz")
    names = [f"d{i:05}" for i in range(40_000)]
    write_asked(tmp_path, AskedGrid.of(None, [Point(name, "random_64", "upm", 0, 0) for name in names]))
    there, left_out = datasets_of(tmp_path, collect(tmp_path), None)
    assert there == [*names[:MOST_UNSTARTED], "zz"]
    [line] = left_out
    assert line.startswith(
        f"{40_000 - MOST_UNSTARTED} more datasets that grids ask for and of which no run was started"
    )
    assert datasets_of(tmp_path, collect(tmp_path), names[-1:])[0] == names[-1:]
