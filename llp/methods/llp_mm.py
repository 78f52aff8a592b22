"""LLP-MM: match the law of the positives in random subsets of a bag, up to subsets of R instances.

Tianhao Ma et al., code TianhaoMa5/LLP-MM (2026). Of r of a bag's k instances the number of positives is hypergeometric
in (k, y, r); by the model each is 1 with probability h. The loss is the laws' cross-entropy, mean over r = 1..R; order
1 is `dllp_bce`. The model's law is a ratio of elementary symmetric polynomials, summed without a subtraction, mixed
with the share `smoothing` of a fair coin's. A bag smaller than R, refused there, uses the orders that it has.
"""

import math
from typing import Any

import torch
from pydantic import PositiveInt
from torch import Tensor
from torch.nn import functional as F

from llp.config.options import ProperShare
from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.segment import pad_bags


def choose(n: Tensor, r: int) -> Tensor:
    """Binomial coefficient of integers n ≥ 0 (any shape, float64) and r ≥ 0; 0 where n < r."""
    factors = [n - i for i in range(r)]
    return math.prod(factors, start=torch.ones_like(n)) / math.factorial(r)


def hypergeometric(size: Tensor, count: Tensor, order: int) -> Tensor:
    """Law of the positives in a random `order`-subset of bags with `count` of `size` positives: (M, order + 1)."""
    ways = [choose(count, j) * choose(size - count, order - j) for j in range(order + 1)]
    return torch.stack(ways, dim=1) / choose(size, order).clamp_min(1)[:, None]


def subset_laws(scores: Tensor, batch: BagBatch, *, max_order: int) -> list[Tensor]:
    """Model's laws of the positives in a random r-subset, r = 1..max_order: r-th (M, r + 1), float64.

    `ways[j]` sums, over the r-subsets of a bag's first i instances and the choices of j of their members, the
    product of h over the chosen and 1 - h over the others. The last member of a subset runs through the bag.
    Rows of bags smaller than r are 0.
    """
    z = scores.double()
    positive = pad_bags(torch.sigmoid(z), batch.segment, batch.size)
    negative = pad_bags(torch.sigmoid(-z), batch.segment, batch.size)
    size = batch.size.double()
    ways = torch.ones_like(positive)[None]  # (r + 1, M, k)
    laws = []
    for order in range(1, max_order + 1):
        before = ways if order == 1 else F.pad(ways[..., :-1], (1, 0))
        none = torch.zeros_like(before[:1])
        last_is_negative = torch.cat([before * negative, none])
        last_is_positive = torch.cat([none, before * positive])
        ways = torch.cumsum(last_is_negative + last_is_positive, dim=-1)
        laws.append(ways[..., -1].T / choose(size, order).clamp_min(1)[:, None])
    return laws


class SubsetMatching(LLPMethod):
    """Cross-entropy of subset laws up to subsets of `max_order`, R; `smoothing` is a fair coin's share, in [0, 1)."""

    def __init__(self, *, max_order: PositiveInt, smoothing: ProperShare, **shared: Any) -> None:
        super().__init__(**shared)
        self.max_order = max_order
        self.smoothing = smoothing

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """Cross-entropy of the two laws, mean over a bag's orders and the bags; noisy sums as nearest counts."""
        size = batch.size.double()
        count = batch.label_sum.double().round().clamp(min=0).minimum(size)
        total, n_orders = torch.zeros_like(size), torch.zeros_like(size)
        for order, law in enumerate(subset_laws(scores, batch, max_order=self.max_order), start=1):
            coin = law.new_tensor([math.comb(order, j) / 2**order for j in range(order + 1)])
            smooth = ((1 - self.smoothing) * law + self.smoothing * coin).clamp_min(torch.finfo(torch.float64).tiny)
            total = total - (hypergeometric(size, count, order) * torch.log(smooth)).sum(dim=1)
            n_orders = n_orders + (size >= order)
        return (total / n_orders).mean().to(scores.dtype)
