"""A dataset's frame as a table, whatever its columns become."""

import numpy as np
import polars as pl
import pytest

from llp.data.table import InstanceTable
from llp.datasets.frames import FrameColumns, write_frame

FRAME = pl.DataFrame({"shop": ["a", "b", None, "a"], "price": [1.0, 3.0, None, 2.0]})


@pytest.mark.parametrize(
    ("categories", "binned", "numbers"),
    [(("shop",), (), ()), ((), ("price",), ()), ((), (), ("price",)), (("shop",), (), ("price",))],
)
def test_any_of_the_three_may_be_missing(tmp_path, categories, binned, numbers):
    columns = FrameColumns(
        label_kind="binary", categories=categories, binned=binned, numbers=numbers, rare_at_most=0, bins=2
    )
    label = np.array([0, 1, 1, 0], np.float32)
    write_frame(tmp_path / "t", {"_target_": "made"}, FRAME, label, columns, {})
    table = InstanceTable.open(tmp_path / "t")
    assert table.categorical.shape == (4, len(categories) + len(binned))
    assert table.numeric.shape == (4, len(numbers))
    assert np.array_equal(table.label, label)
