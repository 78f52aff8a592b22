"""Whether numbers are finite."""

import math

import torch
from torch import Tensor


def all_finite(numbers: Tensor) -> bool:
    """Whether no number is NaN or infinite, in one pass over them: `torch.isfinite` takes several and a mask."""
    if not numbers.numel():
        return True
    least, most = torch.aminmax(numbers.detach())  # NaN goes into both
    return math.isfinite(least) and math.isfinite(most)
