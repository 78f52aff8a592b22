"""Instance vectors as blocks, one per column at a time, and the moments of bags that give separations in ℓ₂²."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from llp.data.bags import Rows

Means: TypeAlias = NDArray[np.float64] | csr_array


class Moments(NamedTuple):
    """Moments of K bags from which separations in ℓ₂² follow, for one block of the vectors or the sum over blocks."""

    mean_square: NDArray[np.float64]  # (K,) q_B, mean squared norm of a bag's vectors
    square_of_mean: NDArray[np.float64]  # (K,) ‖m_B‖²
    mean_dot_total: NDArray[np.float64]  # (K,) ⟨m_B, Σ m_B'⟩ with the sum over all bags, B itself included

    @classmethod
    def summed(cls, parts: "Iterable[Moments]") -> "Moments":
        """Moments of vectors whose blocks have the given ones."""
        return cls(*(sum(of_blocks) for of_blocks in zip(*parts, strict=True)))


def moments(block: "VectorBlock", rows: Rows, offsets: NDArray[np.int64]) -> Moments:
    """Moments of the bags `rows[offsets[b]:offsets[b + 1]]` in a block."""
    means = block.means(rows, offsets)
    return Moments(block.mean_squares(rows, offsets), (means * means).sum(axis=1), means @ means.sum(axis=0))


@dataclass(frozen=True)
class OneHot:
    """A categorical column as a unit vector per code."""

    codes: NDArray[np.integer]  # (N,)
    vocab_size: int  # the block's width

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> csr_array:
        """Mean vectors (K, width) of the bags `rows[offsets[b]:offsets[b + 1]]`: shares of codes, few of them not 0."""
        size, codes = np.diff(offsets), self.codes[rows].astype(np.int32)
        shares = csr_array((np.ones(len(rows)), codes, offsets.copy()), shape=(len(size), self.vocab_size))
        shares.sum_duplicates()
        shares.data /= np.repeat(size, np.diff(shares.indptr))
        return shares

    def mean_squares(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Mean squared norms (K) of the bags' vectors, from the origin of `means`."""
        return np.ones(len(offsets) - 1)

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """The block (m, width) of the given rows, for small data."""
        vectors = np.zeros((len(rows), self.vocab_size))
        vectors[np.arange(len(rows)), self.codes[rows]] = 1.0
        return vectors


@dataclass(frozen=True)
class Embedded:
    """A categorical column as a row of an embedding per code."""

    codes: NDArray[np.integer]  # (N,)
    embedding: NDArray[np.floating]  # (codes, D); sums are made in float64

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `OneHot`."""
        size, weight = np.diff(offsets), self.embedding.astype(np.float64)
        members = csr_array((np.ones(len(rows)), self.codes[rows], offsets), shape=(len(size), len(weight)))
        mean: NDArray[np.float64] = (members @ weight) / size[:, None]
        return mean

    def mean_squares(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `OneHot`."""
        weight = self.embedding.astype(np.float64)
        return np.add.reduceat((weight * weight).sum(axis=1)[self.codes[rows]], offsets[:-1]) / np.diff(offsets)

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """See `OneHot`."""
        vectors: NDArray[np.float64] = self.embedding[self.codes[rows]].astype(np.float64)
        return vectors


@dataclass(frozen=True)
class Scaled:
    """A number times one vector; distances depend on the vector's length alone."""

    values: NDArray[np.floating | np.integer]  # (N,)
    length: float  # Euclidean norm of the vector; 1 for a number that enters as it is

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `OneHot`; from the mean of all values, which leaves distances and spares digits."""
        values = self.vectors(rows)
        return np.add.reduceat(values - values.mean(), offsets[:-1]) / np.diff(offsets)[:, None]

    def mean_squares(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `OneHot`."""
        values = self.vectors(rows)[:, 0]
        return np.add.reduceat((values - values.mean()) ** 2, offsets[:-1]) / np.diff(offsets)

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """See `OneHot`."""
        return self.values[rows, None].astype(np.float64) * self.length


VectorBlock = OneHot | Embedded | Scaled
"""One column's part of the instance vectors."""
