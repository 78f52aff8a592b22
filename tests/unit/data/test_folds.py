"""The five folds partition the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from llp.data.folds import FOLD_SEED, N_FOLDS, fold_positions


@given(st.integers(5, 300))
def test_folds_are_scikit_learns(n):
    splits = KFold(N_FOLDS, shuffle=True, random_state=FOLD_SEED).split(np.empty(n))
    for fold, expected in enumerate(splits):
        for ours, theirs in zip(fold_positions(n, fold), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype


def test_fewer_rows_than_folds_are_refused():
    with pytest.raises(ValueError, match="5 folds need as many rows, got 4"):
        fold_positions(4, 0)


@pytest.mark.parametrize("fold", [-1, 5])
def test_other_folds_do_not_exist(fold):
    with pytest.raises(ValueError, match=r"fold is 0..4"):
        fold_positions(100, fold)
