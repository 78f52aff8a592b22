"""Instance vectors as blocks, one per column at a time, and the moments of bags that give separations in ℓ₂²."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from llp.data.bags import Rows

Means: TypeAlias = NDArray[np.float64] | csr_array


def dense(means: Means) -> NDArray[np.float64]:
    """An array as numpy has it."""
    return means if isinstance(means, np.ndarray) else means.toarray()


class Moments(NamedTuple):
    """Moments of K bags from which separations in ℓ₂² follow, for one block of the vectors or the sum over blocks."""

    mean_square: NDArray[np.float64]  # (K,) q_B, mean squared norm of a bag's vectors
    square_of_mean: NDArray[np.float64]  # (K,) ‖m_B‖²
    mean_dot_total: NDArray[np.float64]  # (K,) ⟨m_B, Σ m_B'⟩ with the sum over all bags, B itself included


def moments(block: "VectorBlock", rows: Rows, offsets: NDArray[np.int64]) -> Moments:
    """Moments of the bags `rows[offsets[b]:offsets[b + 1]]` in a block."""
    means = block.means(rows, offsets)
    return Moments(block.mean_squares(rows, offsets), (means * means).sum(axis=1), means @ means.sum(axis=0))


@dataclass(frozen=True)
class Embedded:
    """A categorical column as a row of an embedding per code, or of the identity: a unit vector per code."""

    codes: NDArray[np.integer]  # (N,)
    embedding: NDArray[np.floating] | csr_array  # (codes, D); sums are made in float64

    @classmethod
    def one_hot(cls, codes: NDArray[np.integer], vocab_size: int) -> "Embedded":
        """A column as a unit vector per code."""
        return cls(codes, csr_array(eye_array(vocab_size)))

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> Means:
        """Mean vectors (K, D) of the bags `rows[offsets[b]:offsets[b + 1]]`; of unit vectors shares, few not 0."""
        size, weight = np.diff(offsets), self.embedding.astype(np.float64)
        codes = self.codes[rows]
        shares = csr_array((np.repeat(1 / size, size), codes, offsets), shape=(len(size), weight.shape[0]))
        return shares @ weight

    def mean_squares(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Mean squared norms (K) of the bags' vectors, from the origin of `means`."""
        weight = self.embedding.astype(np.float64)
        return np.add.reduceat((weight * weight).sum(axis=1)[self.codes[rows]], offsets[:-1]) / np.diff(offsets)

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """The block (m, D) of the given rows, for small data."""
        return dense(self.embedding[self.codes[rows]]).astype(np.float64)


@dataclass(frozen=True)
class Scaled:
    """A number times one vector; distances depend on the vector's length alone."""

    values: NDArray[np.floating | np.integer]  # (N,)
    length: float  # Euclidean norm of the vector; 1 for a number that enters as it is

    def means(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Embedded`; from the mean of all values, which leaves distances and spares digits."""
        values = self.vectors(rows)
        return np.add.reduceat(values - values.mean(), offsets[:-1]) / np.diff(offsets)[:, None]

    def mean_squares(self, rows: Rows, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Embedded`."""
        values = self.vectors(rows)[:, 0]
        return np.add.reduceat((values - values.mean()) ** 2, offsets[:-1]) / np.diff(offsets)

    def vectors(self, rows: Rows) -> NDArray[np.float64]:
        """See `Embedded`."""
        return self.values[rows, None].astype(np.float64) * self.length


VectorBlock = Embedded | Scaled
"""One column's part of the instance vectors."""
