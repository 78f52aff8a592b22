"""The scoring model of the made datasets: dependent columns, and a score that is a sum of weights.

An instance belongs to one of 1024 segments (Zipf); half of the time a column has the segment's favourite value, else a
Zipf one. The score is the standardised sum of the (column, code) weights. Each chunk of rows has its own generator.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

CHUNK_ROWS = 2**15  # fits the processor's cache
N_SEGMENTS = 1024
FAVOURITE = np.float32(0.5)  # how often a segment's favourite is taken
RARE_TAIL = 1.2  # the ranking goes on past the vocabulary: what lies there has the rare code


class Model(NamedTuple):
    """Weights and favourites of Fc categorical columns and Fn numeric ones, which score an instance."""

    sizes: tuple[int, ...]  # (Fc,) vocabulary sizes
    favourite: list[NDArray[np.int32]]  # by column, the favourite code of each segment
    weight: list[NDArray[np.float32]]  # by column, of each code
    n_numeric: int  # Fn; each has a weight of 1
    center: float  # mean of the unscaled sum of weights
    spread: float  # and its standard deviation


def scaled(sizes: Sequence[tuple[str, int]], fraction: float) -> tuple[int, ...]:
    """Vocabulary sizes at a fraction of the published ones, at least 3 where there are as many."""
    return tuple(min(size, max(3, round(size * fraction))) for _, size in sizes)


def make_model(sizes: tuple[int, ...], *, n_numeric: int, seed: int) -> Model:
    """Draw the favourites and weights, and standardise the score on the first chunk."""
    rng = np.random.default_rng((seed, 0))
    favourite = [_zipf(rng.random(N_SEGMENTS, dtype=np.float32), size) for size in sizes]
    weight = [rng.standard_normal(size, dtype=np.float32) for size in sizes]
    draft = Model(sizes, favourite, weight, n_numeric, center=0.0, spread=1.0)
    score = make_features(draft, seed, 0)[2]
    return draft._replace(center=float(score.mean(dtype=np.float64)), spread=float(score.std(dtype=np.float64)))


def make_features(
    model: Model, seed: int, chunk: int
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """Chunk number `chunk` without labels: categorical (m, Fc), numeric (m, Fn), score (m,); m = `CHUNK_ROWS`."""
    rng = np.random.default_rng((seed, 1, chunk))
    segment = _zipf(rng.random(CHUNK_ROWS, dtype=np.float32), N_SEGMENTS + 1) - 1
    by_column = np.empty((len(model.sizes), CHUNK_ROWS), np.int32)
    numeric = np.exp(rng.standard_normal((CHUNK_ROWS, model.n_numeric), dtype=np.float32))
    score = numeric.sum(axis=1)
    for i, size in enumerate(model.sizes):
        uniform = rng.random(CHUNK_ROWS, dtype=np.float32)
        own = _zipf((uniform - FAVOURITE) / (1 - FAVOURITE), RARE_TAIL * size)
        own *= own < size
        code = np.where(uniform < FAVOURITE, model.favourite[i][segment], own)
        score += model.weight[i][code]
        by_column[i] = code
    score -= model.center
    score /= model.spread
    return by_column.T, numeric, score


def _zipf(uniform: NDArray[np.float32], end: float) -> NDArray[np.int32]:
    """Ranks from 1 to below `end` with chances that fall as 1 / rank, from uniform numbers on [0, 1)."""
    rank: NDArray[np.int32] = np.exp(uniform * np.float32(np.log(end))).astype(np.int32)
    return rank


def bias_for(model: Model, seed: int, *, signal: float, rate: float) -> float:
    """The constant that makes `rate` the mean chance of a one on the first chunk."""
    score = make_features(model, seed, 0)[2]
    return float(brentq(lambda bias: expit(signal * score + bias).mean() - rate, -50, 50))
