"""Bags as the rows of a matrix, for operations that run along a bag."""

import torch
from torch import Tensor


def pad_bags(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Values (n,) as (M, largest k), each bag from the left, zeros behind it; differentiable in `values`."""
    start = torch.cumsum(size, 0) - size
    position = torch.arange(len(values), device=values.device) - start[segment]
    padded = values.new_zeros(len(size), int(size.max()))
    return padded.index_put((segment, position), values)
