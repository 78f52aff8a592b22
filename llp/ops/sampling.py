"""Draws of instances from a minibatch, without replacement; padding (see `BagBatch`) is drawn last or not at all."""

from typing import NamedTuple

import torch
from torch import Tensor

from llp.ops.segment import rank_in_segment, to_instances


class Drawn(NamedTuple):
    """Instances drawn from a minibatch.

    Attributes
    ----------
    position : Tensor
        (m,) int64, where they are in the minibatch.
    share : Tensor
        (m,) what each counts in a mean over the m: 1, or 0 for padding and accordingly more for the others.
    """

    position: Tensor
    share: Tensor


def draw_instances(
    segment: Tensor, n_bags: int, n_drawn: int, generator: torch.Generator, *, dtype: torch.dtype
) -> Drawn:
    """Draw `n_drawn` instances of a minibatch, or all of them, in order, where there are no more.

    Padding is drawn only when no other instance is left. `segment` (n,) is the minibatch's, `dtype` that of `share`.
    """
    position = torch.arange(len(segment), device=segment.device)
    if len(segment) > n_drawn:
        order = torch.randperm(len(segment), generator=generator, device=segment.device)
        position = order[torch.argsort((segment[order] == n_bags).byte(), stable=True)[:n_drawn]]
    in_a_bag = (segment[position] < n_bags).to(dtype)
    return Drawn(position, in_a_bag * len(position) / in_a_bag.sum())


def draw_of_each_bag(segment: Tensor, size: Tensor, n_drawn: Tensor, uniform: Tensor) -> Tensor:
    """Positions (sum of n_drawn,) int64 of `n_drawn` (M,) instances of each bag, from draws (n,) in [0, 1)."""
    return (rank_in_segment(uniform, segment, size) < to_instances(n_drawn, segment)).nonzero().squeeze(1)
