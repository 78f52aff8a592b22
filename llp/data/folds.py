"""The five folds of the benchmark: those of scikit-learn's KFold, whose import would take a second."""

import numpy as np
from numpy.typing import NDArray

from llp.seeding import keyed_seed

N_FOLDS = 5
FOLD_SEED = 42


def fold_positions(n: int, fold: int, repeat: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rising positions of the train and the test part of one fold of n rows; repeat None: the published ones."""
    order = np.arange(n)
    seed = FOLD_SEED if repeat is None else keyed_seed(repeat, "folds") % 2**32
    np.random.RandomState(seed).shuffle(order)
    in_test = np.zeros(n, bool)
    in_test[np.array_split(order, N_FOLDS)[fold]] = True
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)
