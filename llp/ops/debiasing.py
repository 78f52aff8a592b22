"""Unbiased estimates of the instances' loss from sums over bags: what several methods and measures take of them."""

from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor

Values = TypeVar("Values", Tensor, NDArray[Any])


def surrogate_label(proportion: Values, size: Values, label_mean: float) -> Values:
    """Easy-LLP's weight k (α - p) + p of the positive class for each bag (M,); the negative class has one minus it.

    Busa-Fekete et al., NeurIPS 2023, Definition 3.4.

    >>> surrogate_label(torch.tensor([0.5, 0.0]), torch.tensor([10, 2]), 0.2)
    tensor([ 3.2000, -0.2000])
    """
    return size * (proportion - label_mean) + label_mean


def debiased_estimates(
    loss_sum: Tensor, size: Tensor, label_sum: Tensor, *, label_mean: float, centre: Tensor, mean_loss: Tensor
) -> Tensor:
    """Σ_c (α_c - p_c) (Σ_i ℓ_c(x_i) - k Ê[ℓ_c]) + Σ_c p_c Ê[ℓ_c] of each bag: (M,).

    Applebaum et al., arXiv 2509.15145 (2025), eq. 28. `loss_sum` (M, 2) is Σ_i ℓ_c, `centre` the first Ê[ℓ],
    `mean_loss` (2,) the second.
    """
    positive = label_sum / size
    proportion = torch.stack([1 - positive, positive], dim=1)
    prior = torch.stack([loss_sum.new_full((), p) for p in (1 - label_mean, label_mean)])  # filled on the device
    centred = loss_sum - size[:, None] * centre
    return ((proportion - prior) * centred).sum(dim=1) + (prior * mean_loss).sum()
