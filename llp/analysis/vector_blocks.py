"""Instance vectors as blocks, one per column, and what their separations in ℓ₂² need of each bag.

An instance's vector is a concatenation of one block per column, and squared norms and inner products are sums over the
blocks, so columns are taken one at a time: rows × dims never exists, and bags × dims only for one column.
"""

import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from llp.data.bags import Rows

Means: TypeAlias = NDArray[np.float64] | csr_array
Pairs = NDArray[np.uint32 | np.uint64]


@dataclass(frozen=True)
class Moments:
    """What the separations in ℓ₂² need of K bags, for one block of the vectors or the sum over blocks.

    Attributes
    ----------
    mean_square : ndarray
        float64 (K): q_B, mean squared norm of a bag's vectors.
    square_of_mean : ndarray
        float64 (K): ‖m_B‖².
    mean_dot_total : ndarray
        float64 (K): ⟨m_B, Σ m_B'⟩ with the sum over all bags, B itself included.
    """

    mean_square: NDArray[np.float64]
    square_of_mean: NDArray[np.float64]
    mean_dot_total: NDArray[np.float64]

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.mean_square + other.mean_square,
            self.square_of_mean + other.square_of_mean,
            self.mean_dot_total + other.mean_dot_total,
        )


def sum_of_moments(parts: Iterable[Moments]) -> Moments:
    """Moments of vectors whose blocks have the given ones: sums over the blocks."""
    return functools.reduce(operator.add, parts)


class VectorBlock(Protocol):
    """One column's part of the instance vectors."""

    def moments(self, rows: Rows, offsets: NDArray[np.int64]) -> Moments:
        """Moments of the bags `rows[offsets[b]:offsets[b + 1]]`."""

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """The block (m, width) of the given rows, for small data."""

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> Means:
        """The bags' mean vectors (K, width), from any origin."""


@dataclass(frozen=True)
class OneHot:
    """A categorical column as a unit vector per code.

    Attributes
    ----------
    codes : ndarray
        Integer (N).
    vocab_size : int
        Number of codes: the block's width.
    """

    codes: NDArray[np.integer]
    vocab_size: int

    def moments(self, rows: Rows, offsets: NDArray[np.int64]) -> Moments:
        """See `VectorBlock`: a bag's mean vector holds the shares of the codes in it, few of which are not zero."""
        size = np.diff(offsets)
        bag = np.repeat(np.arange(len(size)), size)
        # the narrower type sorts twice as fast
        pair: Pairs = bag.astype(np.uint32 if len(size) * self.vocab_size <= 2**32 else np.uint64)
        pair *= pair.dtype.type(self.vocab_size)
        pair += self.codes[rows].astype(pair.dtype)
        pair.sort()
        end = np.append(np.flatnonzero(pair[1:] != pair[:-1]) + 1, len(pair))
        bag, code = np.divmod(pair[end - 1].astype(np.int64), self.vocab_size)
        share: NDArray[np.float64] = np.diff(end, prepend=0) / size[bag]
        total = _sums(code, share, self.vocab_size)
        return Moments(
            mean_square=np.ones(len(size)),
            square_of_mean=_sums(bag, share**2, len(size)),
            mean_dot_total=_sums(bag, share * total[code], len(size)),
        )

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> csr_array:
        """See `VectorBlock`: sparse, as a bag holds few of the codes."""
        size = np.diff(offsets)
        return csr_array((np.repeat(1 / size, size), self.codes[rows], offsets), shape=(len(size), self.vocab_size))

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """See `VectorBlock`."""
        vectors = np.zeros((len(rows), self.vocab_size))
        vectors[np.arange(len(rows)), self.codes[rows]] = 1.0
        return vectors


def _sums(group: NDArray[np.int64], values: NDArray[np.float64], n_groups: int) -> NDArray[np.float64]:
    """Sum of the values of each group."""
    return np.bincount(group, weights=values, minlength=n_groups).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Embedded:
    """A categorical column as a row of an embedding per code.

    Attributes
    ----------
    codes : ndarray
        Integer (N).
    embedding : ndarray
        Floating point (codes, D); sums are made in float64.
    """

    codes: NDArray[np.integer]
    embedding: NDArray[np.floating]

    def moments(self, rows: Rows, offsets: NDArray[np.int64]) -> Moments:
        """See `VectorBlock`."""
        codes, size = self.codes[rows], np.diff(offsets)
        weight, mean = self.embedding.astype(np.float64), self.means(rows, offsets)
        square = np.einsum("vd,vd->v", weight, weight)
        return Moments(
            mean_square=np.add.reduceat(square[codes], offsets[:-1]) / size,
            square_of_mean=np.einsum("kd,kd->k", mean, mean),
            mean_dot_total=mean @ mean.sum(axis=0),
        )

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `VectorBlock`."""
        size, weight = np.diff(offsets), self.embedding.astype(np.float64)
        members = csr_array((np.ones(len(rows)), self.codes[rows], offsets), shape=(len(size), len(weight)))
        mean: NDArray[np.float64] = (members @ weight) / size[:, None]
        return mean

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """See `VectorBlock`."""
        vectors: NDArray[np.float64] = self.embedding[self.codes[rows]].astype(np.float64)
        return vectors


@dataclass(frozen=True)
class Scaled:
    """A number times one vector; distances depend on the vector's length alone.

    Attributes
    ----------
    values : ndarray
        Floating point or integer (N).
    length : float
        Euclidean norm of the vector; 1 for a number that enters as it is.
    """

    values: NDArray[np.floating | np.integer]
    length: float

    def moments(self, rows: Rows, offsets: NDArray[np.int64]) -> Moments:
        """See `VectorBlock`; values are taken from their mean, which leaves distances and spares digits."""
        values = self.vectors(rows)[:, 0]
        values -= values.mean()
        size = np.diff(offsets)
        mean = np.add.reduceat(values, offsets[:-1]) / size
        return Moments(
            mean_square=np.add.reduceat(values**2, offsets[:-1]) / size,
            square_of_mean=mean**2,
            mean_dot_total=mean * mean.sum(),
        )

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `VectorBlock`; from the mean of all values, which spares digits."""
        values = self.vectors(rows)
        mean: NDArray[np.float64] = np.add.reduceat(values - values.mean(), offsets[:-1]) / np.diff(offsets)[:, None]
        return mean

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """See `VectorBlock`."""
        return self.values[rows, None].astype(np.float64) * self.length
