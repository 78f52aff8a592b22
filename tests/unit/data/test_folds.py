"""The five folds partition the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llp.data.folds import N_FOLDS, fold_positions


@given(st.integers(5, 300))
def test_test_parts_partition_the_rows_and_train_is_the_rest(n):
    parts = [fold_positions(n, fold) for fold in range(N_FOLDS)]
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(n))
    for train, test in parts:
        np.testing.assert_array_equal(train, np.setdiff1d(np.arange(n), test))
        assert len(test) in (n // 5, n // 5 + 1)
        assert (np.diff(test) > 0).all()


@pytest.mark.parametrize("fold", [-1, 5])
def test_other_folds_do_not_exist(fold):
    with pytest.raises(ValueError, match=r"fold is 0..4"):
        fold_positions(100, fold)
