"""The diamonds table, from a file laid out as the package has it."""

import sys

import numpy as np
import pytest

from llp.data.keys import FeatureKey
from llp.data.table import InstanceTable
from llp.datasets import diamonds
from llp.errors import InputError

ROWS = [
    f'{0.2 + i / 100},"{("Ideal", "Fair")[i % 2]}","{"EDF"[i % 3]}","SI2",61.5,55,{1000 * 2 ** (i % 4)},3.9,3.8,2.4'
    for i in range(40)
]


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "plotnine"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('its own import is avoided')")
    header = '"carat","cut","color","clarity","depth","table","price","x","y","z"'
    (folder / "data" / "diamonds.csv").write_text("\n".join([header, *ROWS]) + "\n")
    monkeypatch.delitem(sys.modules, "plotnine", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_table_is_the_file(tmp_path, package):
    diamonds.prepare(folder=tmp_path / "table", made_by={}, bins=4)
    table = InstanceTable.open(tmp_path / "table")
    assert table.label_kind == "real"
    np.testing.assert_array_equal(table.label, [i % 4 for i in range(40)])
    assert table.categorical_names == [*diamonds.CATEGORICAL, *diamonds.NUMERIC]
    assert (np.diff(table.codes("carat")) >= 0).all()
    assert dict(table.vocabulary("color").iter_rows()) == {"D": 2, "E": 1, "F": 3}
    bags = FeatureKey(columns=("cut", "color"), low_thresh=1, high_thresh=50).all_bags(table)
    assert sorted(bags.sizes.tolist()) == [6, 6, 7, 7, 7, 7]
    assert bags.label_sum.sum() == sum(i % 4 for i in range(40))


def test_missing_package_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"dataset=diamonds needs the package plotnine: install it"):
        diamonds.prepare(folder=tmp_path / "t", made_by={}, bins=4)
