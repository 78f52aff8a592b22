"""Draws of instances from a minibatch, without replacement."""

import torch
from torch import Tensor

from llp.ops.segment import rank_in_segment, to_instances


def draw_instances(n: int, n_drawn: int, generator: torch.Generator) -> Tensor:
    """Positions (m,) int64 of `n_drawn` of n instances, or of all of them, in order, where there are no more."""
    if n <= n_drawn:
        return torch.arange(n, device=generator.device)
    return torch.randperm(n, generator=generator, device=generator.device)[:n_drawn]


def draw_of_each_bag(segment: Tensor, size: Tensor, n_drawn: Tensor, uniform: Tensor) -> Tensor:
    """Positions (sum of n_drawn,) int64 of `n_drawn` (M,) instances of each bag, from draws (n,) in [0, 1)."""
    return (rank_in_segment(uniform, segment, size) < to_instances(n_drawn, segment)).nonzero().squeeze(1)
