"""Operations per bag: the instances of a minibatch lie bag after bag, `segment` says which bag each belongs to.

Shapes: `values` (n,) or (n, D); `segment` (n,) int64 in 0..M-1, rising; results (M,) or (M, D). Instances whose
segment is M belong to no bag (a method may leave bags out so): no result depends on their values, and their gradient
is 0. Everything is differentiable in `values` and works on any device for the whole minibatch at once, without reading
the device's numbers: shapes follow from n and M alone.
"""

import torch
from torch import Tensor
from torch.nn import functional as F


def segment_sum(values: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Sum of `values` over each bag."""
    total = values.new_zeros(n_segments + 1, *values.shape[1:]).index_add(0, segment, values)
    return total[:n_segments]


def segment_mean(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Mean of `values` over each bag; `size` (M,) holds the number of instances of each bag."""
    total = segment_sum(values, segment, len(size))
    return total / size.to(values.dtype).view(-1, *[1] * (values.ndim - 1))


def segment_max(values: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Largest of `values` (n,) in each bag; no bag may be empty."""
    lowest = values.new_full((n_segments + 1,), -torch.inf)
    return lowest.scatter_reduce(0, segment, values, reduce="amax", include_self=True)[:n_segments]


def to_instances(values: Tensor, segment: Tensor) -> Tensor:
    """Give each instance the value of its bag: (n,) or (n, D) from (M,) or (M, D); 0 where it belongs to none."""
    return torch.cat([values, values.new_zeros(1, *values.shape[1:])])[segment]


def mean_over_instances(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Mean of `values` over the instances of all bags: a scalar or (D,)."""
    in_a_bag = (segment < len(size)).view(-1, *[1] * (values.ndim - 1))
    return torch.where(in_a_bag, values, 0).sum(dim=0) / size.sum()


def mean_over_other_bags(values: Tensor, segment: Tensor, size: Tensor, *, alone: Tensor | float) -> Tensor:
    """For each bag the mean of `values` over the instances of all the others: (M,) or (M, D).

    `alone` (a scalar or (D,)) stands in where there is no other bag.
    """
    total = segment_sum(values, segment, len(size))
    n_others = (size.sum() - size).view(-1, *[1] * (values.ndim - 1))
    return torch.where(n_others > 0, (total.sum(dim=0) - total) / n_others.clamp_min(1), alone)


def descending_order(values: Tensor, segment: Tensor) -> Tensor:
    """Positions (n,) int64, bag after bag, in each by descending value; those that belong to no bag come last."""
    descending = torch.argsort(values, descending=True, stable=True)
    return descending[torch.argsort(segment[descending], stable=True)]


def rank_in_segment(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Rank (n,) int64 of each instance in its bag, and of those in none, by descending value, ties by position."""
    order = descending_order(values, segment)
    start = F.pad(torch.cumsum(size, 0), (1, 0))  # M + 1: where the bags end, the other instances begin
    rank = torch.empty_like(segment)
    rank[order] = torch.arange(len(values), device=values.device) - start[segment]
    return rank


def pad_bags(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Values (n,) as (M, largest k), each bag from the left, zeros behind it; differentiable in `values`."""
    start = torch.cumsum(size, 0) - size
    position = torch.arange(len(values), device=values.device) - start[segment]
    padded = values.new_zeros(len(size), int(size.max()))
    return padded.index_put((segment, position), values)
