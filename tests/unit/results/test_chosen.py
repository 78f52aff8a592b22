"""Which datasets and methods a report is of."""

import pytest

from llp.errors import InputError
from llp.results.chosen import datasets_of, filtered
from llp.results.collect import collect
from llp.runs.point import Point
from tests.helpers.records import ask_for, write_run


def test_what_a_grid_asked_for_is_known_before_its_first_run(tmp_path):
    write_run(tmp_path, 0.6, fold=0)
    ask_for(tmp_path, "mine", [Point("asked", "random_64", "upm", 0, 0)])
    collected = collect(tmp_path)
    assert datasets_of(tmp_path, collected, None) == ["asked", "flights"]
    assert datasets_of(tmp_path, collected, ["asked"]) == ["asked"]
    assert filtered(tmp_path, collected, {"method": ["upm"]}).runs.is_empty()
    with pytest.raises(InputError, match=r"^Invalid method=nothing: no run has it; write method=\[.*upm.*\]"):
        filtered(tmp_path, collected, {"method": ["nothing"]})
