"""Operations per bag: the instances of a minibatch lie bag after bag, `segment` says which bag each belongs to.

Shapes: `values` (n,) or (n, D); `segment` (n,) int64 in 0..M-1, rising; results (M,) or (M, D).
Everything is differentiable in `values` and works on any device for the whole minibatch at once.
"""

import torch
from torch import Tensor


def segment_sum(values: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Sum of `values` over each bag."""
    return values.new_zeros(n_segments, *values.shape[1:]).index_add(0, segment, values)


def segment_mean(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Mean of `values` over each bag; `size` (M,) holds the number of instances of each bag."""
    total = segment_sum(values, segment, len(size))
    return total / size.to(values.dtype).view(-1, *[1] * (values.ndim - 1))


def segment_max(values: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Largest of `values` (n,) in each bag; no bag may be empty."""
    lowest = values.new_full((n_segments,), -torch.inf)
    return lowest.scatter_reduce(0, segment, values, reduce="amax", include_self=True)


def rank_in_segment(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Rank of each instance in its bag by descending value: 0 for the highest, ties broken by position.

    Returns
    -------
    Tensor
        (n,) int64, a permutation of 0..k-1 within each bag of k instances.
    """
    descending = torch.argsort(values, descending=True, stable=True)
    order = descending[torch.argsort(segment[descending], stable=True)]  # bag after bag, descending inside
    start = torch.cumsum(size, 0) - size
    rank = torch.empty_like(segment)
    rank[order] = torch.arange(len(values), device=values.device) - start[segment]
    return rank
