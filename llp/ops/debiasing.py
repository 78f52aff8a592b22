"""The debiased estimate of the instances' loss, from sums over bags."""

import torch
from torch import Tensor


def debiased_estimates(
    loss_sum: Tensor, size: Tensor, label_sum: Tensor, *, label_mean: float, centre: Tensor, mean_loss: Tensor
) -> Tensor:
    """Σ_c (α_c - p_c) (Σ_i ℓ_c(x_i) - k Ê[ℓ_c]) + Σ_c p_c Ê[ℓ_c] of each bag: (M,).

    Applebaum et al., arXiv 2509.15145 (2025), eq. 28, for the classes c = 0 and 1.

    Parameters
    ----------
    loss_sum : Tensor
        (M, 2), sums over each bag of the loss that an instance has with either label.
    size, label_sum : Tensor
        (M,), instances and label sum of each bag.
    label_mean : float
        p.
    centre : Tensor
        (M, 2) or (2,), the Ê[ℓ] of the first sum.
    mean_loss : Tensor
        (2,), the Ê[ℓ] of the second.
    """
    positive = label_sum / size
    proportion = torch.stack([1 - positive, positive], dim=1)
    prior = torch.stack([loss_sum.new_full((), p) for p in (1 - label_mean, label_mean)])  # filled on the device
    centred = loss_sum - size[:, None] * centre
    return ((proportion - prior) * centred).sum(dim=1) + (prior * mean_loss).sum()
