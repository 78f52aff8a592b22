"""What a report says first."""

import pytest

from llp.data.keys import KINDS
from llp.results.findings import findings
from tests.helpers.grids import contents_of
from tests.helpers.records import write_folds


@pytest.mark.parametrize("kind", KINDS)
def test_the_winner_on_every_kind_of_bags_is_named_first(tmp_path, kind):
    for method, value in (("dsq", 0.7), ("upm", 0.8)):
        write_folds(tmp_path, [value] * 5, method=method, bag_kind=kind)
    cells = contents_of(tmp_path).cells
    said = findings(cells, cells)
    assert said[0].startswith("upm has the best test AUC on 1 of 1 dataset of ")
    assert said[0].endswith(f" {KINDS[kind].words}.")
