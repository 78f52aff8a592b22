"""GenBags: squared error of random combinations of bags.

Rishi Saket, Aravindan Raghuveer and Balaraman Ravindran, "On combining bags to better learn from label proportions",
AISTATS 2022. The bags of a minibatch form blocks; each block draws weight vectors w ~ N(0, Σ), and the loss is
Σ (Σ_B w_B (ŷ_B - y_B))² over all of them. Σ has ones on its diagonal and equal off-diagonal entries that make its
rows sum to zero (`covariance: tetrahedron`), so equal residuals within a block cost nothing: with mean residuals, or
bags of one size, a constant error of all predictions is never corrected. The benchmark's authors' code uses a slightly
regularised Σ (`covariance: reference`) and, for real labels, mean residuals.
"""

from typing import Any, ClassVar, Literal

import torch
from pydantic import PositiveInt
from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.methods.dllp import Target, residual
from llp.ops.segment import segment_mean, segment_sum

Residual = Literal["sum", "mean"]
Covariance = Literal["tetrahedron", "reference"]


def blocks_of(n_bags: int, block_size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Block of each bag (M,) int64, and bags of each block (G,); the last block may be smaller, none is dropped."""
    block = torch.arange(n_bags, device=device) // block_size
    first = torch.arange(0, n_bags, block_size, device=device)
    return block, (n_bags - first).clamp(max=block_size)


def bag_weights(normal: Tensor, block: Tensor, block_size: Tensor, *, covariance: Covariance) -> Tensor:
    """Weights w ~ N(0, Σ) (M, W) of the generalised bags, from W standard normal draws for each bag (M, W).

    For a block of m bags Σ = c (I - J/m) + r J/m. `tetrahedron`: c = m/(m-1), r = 0, that is a diagonal of 1 and
    -1/(m-1) elsewhere. `reference`: a diagonal of 1.001 and -0.99/(m-1) elsewhere, 1.331 I - 0.33 J for m = 4. Both
    are singular or nearly so; w is the draws' deviation from their block mean and that mean, each scaled. A block
    of one bag is that bag itself, with weight 1. `block` (M,) and `block_size` (G,) are those of `blocks_of`.
    """
    m = block_size.to(normal.dtype)
    off_diagonal, diagonal = (0.99, 1.001) if covariance == "reference" else (1.0, 1.0)
    c, r = diagonal + off_diagonal / (m - 1), diagonal - off_diagonal
    mean = segment_mean(normal, block, block_size)[block]
    weights = torch.sqrt(c)[block, None] * (normal - mean) + r**0.5 * mean
    return torch.where((m == 1)[block, None], 1.0, weights)


def genbags_loss(residual: Tensor, weights: Tensor, block: Tensor, n_blocks: int) -> Tensor:
    """Σ over generalised bags of (Σ_B w_B d_B)²: a scalar from residuals d (M,) and weights (M, W)."""
    combined = segment_sum(weights * residual[:, None], block, n_blocks)
    return torch.square(combined).sum()


class GenBags(LLPMethod):
    """Squared error of `draws` random combinations of `block_size` bags; residuals are ŷ - y (`sum`) or h̄ - α."""

    groups_bags: ClassVar[bool] = True

    def __init__(
        self, *, block_size: PositiveInt, draws: PositiveInt, residual: Residual, covariance: Covariance, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.block_size = block_size
        self.draws = draws
        self.target: Target = "sum" if residual == "sum" else "proportion"
        self.covariance: Covariance = covariance

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        error = residual(self.predict(scores), batch, target=self.target)
        block, sizes = blocks_of(len(error), self.block_size, error.device)
        generator = self.generator("bag weights")
        normal = torch.randn(len(error), self.draws, generator=generator, device=error.device, dtype=error.dtype)
        weights = bag_weights(normal, block, sizes, covariance=self.covariance)
        return genbags_loss(error, weights, block, len(sizes))
