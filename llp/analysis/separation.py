"""Bag separations: how far the instances of a bag lie from each other, and from those of the other bags.

`BagSep(B, B', d)` is the mean of d over all pairs of instances (LLP-Bench, arXiv 2310.10096); IntraBagSep(B) =
BagSep(B, B), InterBagSep(B) its mean over the other bags. For d = ℓ₂² it is q_B + q_B' - 2⟨m_B, m_B'⟩, of mean squared
norms and mean vectors, column by column; any other metric costs O(m²) distances.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from llp.analysis.hardness import Measures, spread
from llp.analysis.space import Space
from llp.analysis.vector_blocks import Moments, VectorBlock, dense, moments
from llp.data.bags import Bags, Rows
from llp.errors import InputError

# A bag whose squared norms cancel to less than this share has equal points: what is left is rounding.
ROUNDING = 1e-12


class Separations(NamedTuple):
    """IntraBagSep and InterBagSep of each of K bags, (K,); inter is NaN where there is one bag."""

    intra: NDArray[np.float64]
    inter: NDArray[np.float64]


NO_BAGS = Separations(np.empty(0), np.empty(0))
CLOSED_FORM = "sqeuclidean"


@dataclass(frozen=True)
class Distances:
    """Distances of instances, and from them the separations of bags."""

    space: Space | None  # None measures no separations
    metric: str  # sqeuclidean (closed form) or another name that scipy's `cdist` knows
    limit: int  # most instances whose pairs are all measured, under another metric

    def separations(self, bags: Bags, pool: Executor) -> Separations:
        """Separations of bags; the columns of the closed form are taken at once in a pool."""
        if self.space is None:
            return NO_BAGS
        if self.metric != CLOSED_FORM:
            return from_matrix(self.matrix(bags))
        parts = pool.map(lambda block: moments(block, bags.rows, bags.offsets), self.space.blocks)
        return squared_euclidean(parts)

    def matrix(self, bags: Bags) -> NDArray[np.float64]:
        """BagSepMatrix (K, K) of bags; refuses more instances than `limit` unless there is a closed form."""
        assert self.space is not None
        if self.metric == CLOSED_FORM:
            return squared_euclidean_matrix(self.space.blocks, bags.rows, bags.offsets)
        if len(bags.rows) > self.limit:
            raise InputError(
                f"Invalid metric={self.metric}: it measures all pairs of instances, and the bags of a key have "
                f"{len(bags.rows)}; expected metric={CLOSED_FORM}, which has a closed form, or more than "
                f"metric_limit={self.limit}, or, for a matrix, fewer matrix_bags"
            )
        return bag_sep_matrix(self.space.vectors, bags.rows, bags.offsets, self.metric)


def squared_euclidean(blocks: Iterable[Moments]) -> Separations:
    """Separations in ℓ₂², in closed form from the moments of K bags in each block of the vectors."""
    bags = Moments(*(sum(parts) for parts in zip(*blocks, strict=True)))
    q, own, dot = bags.mean_square, bags.square_of_mean, bags.mean_dot_total
    variance = _variance(bags)
    others = len(q) - 1
    if others < 1:
        return Separations(2 * variance, np.full(len(q), np.nan))
    inter = q + (q.sum() - q) / others - 2 * (dot - own) / others
    return Separations(2 * variance, np.maximum(inter, 0.0))


def _variance(bags: Moments) -> NDArray[np.float64]:
    """Mean squared distance (K) of a bag's vectors from their mean."""
    variance = bags.mean_square - bags.square_of_mean
    variance[variance < ROUNDING * bags.mean_square] = 0.0
    return variance


def squared_euclidean_matrix(
    blocks: Iterable[VectorBlock], rows: Rows, offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """BagSepMatrix (K, K) in ℓ₂², in closed form: the bags' variances and the distance of their means."""
    K = len(offsets) - 1
    between, variance = np.zeros((K, K)), np.zeros(K)
    for block in blocks:
        means = block.means(rows, offsets)
        dots = dense(means @ means.T)
        squares = np.diagonal(dots)
        between += np.maximum(squares[:, None] + squares - 2 * dots, 0.0)
        variance += _variance(moments(block, rows, offsets))
    np.fill_diagonal(between, 0.0)
    return between + variance[:, None] + variance


def bag_sep_matrix(
    vectors: Callable[[Rows], NDArray[np.float64]], rows: Rows, offsets: NDArray[np.int64], metric: str
) -> NDArray[np.float64]:
    """BagSepMatrix (K, K) under any metric of `cdist`, from all O(m²) distances of `vectors` of rows."""
    K = len(offsets) - 1
    matrix = np.empty((K, K))
    for i in range(K):
        bag = vectors(rows[offsets[i] : offsets[i + 1]])
        for j in range(i, K):
            other = bag if i == j else vectors(rows[offsets[j] : offsets[j + 1]])
            matrix[i, j] = matrix[j, i] = cdist(bag, other, metric).mean()
    return matrix


def from_matrix(matrix: NDArray[np.float64]) -> Separations:
    """Intra and inter separations of K bags from their BagSepMatrix (K, K)."""
    intra = np.diagonal(matrix).copy()
    if len(matrix) < 2:
        return Separations(intra, np.full(len(matrix), np.nan))
    return Separations(intra, (matrix.sum(axis=1) - intra) / (len(matrix) - 1))


def separation_measures(separations: Separations) -> Measures:
    """Spread of the bags' separations and ratios, and InterIntraRatio = mean inter / mean intra, or NaN."""
    intra, inter = separations
    ratio = np.divide(inter, intra, out=np.full(len(intra), np.nan), where=intra > 0)
    mean_intra = intra.mean() if len(intra) else 0.0
    return {
        **spread(inter, "inter_separation"),
        **spread(intra, "intra_separation"),
        **spread(ratio, "bag_ratio"),
        "inter_intra_ratio": float(inter.mean() / mean_intra) if mean_intra > 0 else float("nan"),
    }
