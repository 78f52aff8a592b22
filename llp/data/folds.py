"""The five folds of the benchmark: scikit-learn's KFold with the authors' seed."""

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
FOLD_SEED = 42


def fold_positions(n: int, fold: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions 0..n-1 of the train and the test part of one fold, both rising.

    Parameters
    ----------
    n : int
        Number of rows that are split.
    fold : int
        0..4.

    Returns
    -------
    train, test : ndarray
        int64 positions; the five test parts partition 0..n-1.
    """
    from sklearn.model_selection import KFold  # takes a second to import, and a finished run is skipped without it

    splits = KFold(N_FOLDS, shuffle=True, random_state=FOLD_SEED).split(np.empty((n, 0), np.int8))
    for k, (train, test) in enumerate(splits):
        if k == fold:
            return train, test
    raise ValueError(f"fold is 0..{N_FOLDS - 1}, got {fold}")
