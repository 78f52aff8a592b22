"""The debiased loss for a general instance loss, here the cross-entropy.

Lorne Applebaum et al., "Optimal learning from label proportions with general loss functions", arXiv 2509.15145 (2025),
eq. 28. Per bag Σ_c (α_c - p_c) Σ_i (ℓ_c(x_i) - Ê[ℓ_c]) + Σ_c p_c Ê[ℓ_c], ℓ_c = -log p_c(x), Ê a mean over instances. By
default the Ê that centres a bag is that of the other bags, independent of its labels: the estimate is unbiased. LLP-
MM's code (2026) takes the minibatch's (`centre: minibatch`). For two classes the first sum is linear in the scores, -(α
- p) Σ_i (z_i - z̄): what holds it is that the term averages out over many bags.
"""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.debiasing import debiased_estimates
from llp.ops.segment import mean_over_instances, mean_over_other_bags, segment_sum

Centre = Literal["other_bags", "minibatch"]


def class_losses(scores: Tensor) -> Tensor:
    """-log of the probabilities of the classes 0 and 1: (n, 2), from raw scores z (n,)."""
    return torch.stack([F.softplus(scores), F.softplus(-scores)], dim=1)


def debiased(losses: Tensor, batch: BagBatch, *, label_mean: float, centre: Tensor, mean_loss: Tensor) -> Tensor:
    """Mean over the bags of the estimate above: a scalar from class losses (n, 2).

    `centre` (M, 2) or (2,) is the Ê[ℓ] of the first sum, `mean_loss` (2,) that of the second. With a centre that is
    independent of the bag, such as the mean over the other bags, its expectation over random bags is E[ℓ_Y]; the
    minibatch's mean as centre leaves out the share 1 / M (for equal bags) of Σ_c Cov(Y_c, ℓ_c).
    """
    sums = segment_sum(losses, batch.segment, len(batch.size))
    return debiased_estimates(
        sums, batch.size, batch.label_sum, label_mean=label_mean, centre=centre, mean_loss=mean_loss
    ).mean()


class Debiased(LLPMethod):
    """Debiased cross-entropy, centred by the other bags or the minibatch (`centre`); `absolute`: of the estimate."""

    def __init__(self, *, centre: Centre, absolute: bool, **shared: Any) -> None:
        super().__init__(**shared)
        self.centre: Centre = centre
        self.absolute = absolute

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`. A bag that is alone in its minibatch is centred by its own mean."""
        losses = class_losses(scores)
        mean_loss = mean_over_instances(losses, batch.segment, batch.size)
        others = mean_over_other_bags(losses, batch.segment, batch.size, alone=mean_loss)
        centre = mean_loss if self.centre == "minibatch" else others
        loss = debiased(losses, batch, label_mean=self.label_mean, centre=centre, mean_loss=mean_loss)
        return loss.abs() if self.absolute else loss
