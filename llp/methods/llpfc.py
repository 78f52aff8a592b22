"""LLPFC: label proportions as label noise, with forward correction.

Jianxin Zhang, Yutong Wang and Clayton Scott, "Learning from label proportions by learning with label noise",
NeurIPS 2022 (arXiv 2203.02496). Two bags form a group: an instance's noisy label m is which of the two it comes
from. With the share λ_m of the noisy labels and the bags' label proportions, Bayes' rule gives the noise
T[c, m] = P(noisy label m | label c) = λ_m γ_m[c] / Σ_l λ_l γ_l[c], where γ_m = (1 - α_m, α_m). The model's
probabilities, sent through T, are compared with the noisy labels.

Differences from the authors' code (Z-Jianxin/LLPFC): the groups are the minibatch's first and second bag, third and
fourth, and so on, drawn again in every epoch with the order of the bags (the code: every 20 epochs); T is stored with
one row per label; a bag counts by the mean over its instances, as bags here differ in size; and `approx` finds the λ
in [0, 1] whose mixture of the two bags is nearest to p, where the code's least squares hold γ transposed.
"""

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.segment import segment_mean, to_instances

NoisyPrior = Literal["uniform", "approx"]
LEAST_SHARE = 1e-6  # of a noisy label; at 0 its probability would be 0 and the logarithm infinite


def noisy_priors(proportion: Tensor, *, label_mean: float, choice: NoisyPrior) -> Tensor:
    """λ (G, 2) from α (G, 2): 1/2 each (`uniform`), or such that λ₀ α₀ + λ₁ α₁ is near p (`approx`)."""
    half = torch.full_like(proportion[:, 0], 0.5)
    first, second = proportion.unbind(dim=1)
    difference = first - second
    nearest = torch.where(difference == 0, half, (label_mean - second) / torch.where(difference == 0, 1, difference))
    share = half if choice == "uniform" else nearest.clamp(LEAST_SHARE, 1 - LEAST_SHARE)
    return torch.stack([share, 1 - share], dim=1)


def transition_matrices(proportion: Tensor, prior: Tensor) -> Tensor:
    """T (G, 2, 2), T[g, c, m] = P(m | c), from α and λ (G, 2); the row of a label in neither bag is λ."""
    by_label = torch.stack([1 - proportion, proportion], dim=1)  # (G, label, noisy label)
    joint = prior[:, None] * by_label
    total = joint.sum(dim=2, keepdim=True)
    return torch.where(total > 0, joint / torch.where(total > 0, total, 1), prior[:, None])


class LLPFC(LLPMethod):
    """Forward-corrected cross-entropy with the bags of a group as noisy labels, whose shares are `noisy_prior`."""

    groups_bags: ClassVar[bool] = True

    def __init__(self, *, noisy_prior: NoisyPrior, **shared: Any) -> None:
        super().__init__(**shared)
        self.noisy_prior: NoisyPrior = noisy_prior

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """Weighted mean over the grouped bags of -log P(noisy label | x); 0 where no two bags form a group."""
        n_grouped = len(batch.size) // 2 * 2
        noisy = batch.label_proportion[:n_grouped].to(scores.dtype)
        proportion = noisy.clamp(0, 1).view(-1, 2)  # of noisy sums it may lie outside
        prior = noisy_priors(proportion, label_mean=self.label_mean, choice=self.noisy_prior)
        of_bag = transition_matrices(proportion, prior).transpose(1, 2).reshape(-1, 2)  # (bag = noisy label, label)
        segment = batch.segment.clamp(max=n_grouped)  # the instances of a bag without a partner belong to no bag
        log_noise = to_instances(torch.log(of_bag), segment)
        log_noisy = torch.logaddexp(log_noise[:, 0] + F.logsigmoid(-scores), log_noise[:, 1] + F.logsigmoid(scores))
        losses = segment_mean(-log_noisy, segment, batch.size[:n_grouped])
        return (prior.flatten() * losses).sum() / max(n_grouped // 2, 1)
