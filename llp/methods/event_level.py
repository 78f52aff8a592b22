"""Event level: every instance has its bag's label proportion as a soft label.

Adel Javanmard, Matthew Fahrbach and Vahab Mirrokni, "PriorBoost", ICML 2024 (arXiv 2402.04987); its interpolation with
the bags' loss, with weight ρ, is that of Adel Javanmard et al., "Learning from aggregate responses: instance level
versus bag level loss functions", ICLR 2024. Each prediction is drawn to its bag's mean: a bias that is small where
instances of a bag share what carries the label, against the least variance of all.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from llp.config.options import Share
from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.methods.dllp import dllp_bce, residual
from llp.ops.segment import mean_over_instances, to_instances


class EventLevel(LLPMethod):
    """(1 - ρ) · mean over bags of loss(α, h̄) + ρ · mean over instances of loss(α of their bag, h).

    Cross-entropy, or squared error of real labels; with `rho` 0 it is `dllp_bce` or `dllp_mse`.
    """

    def __init__(self, *, rho: Share, **shared: Any) -> None:
        super().__init__(**shared)
        self.rho = rho

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        label = to_instances(batch.label_proportion, batch.segment)
        if self.label_kind == "binary":
            of_bags = dllp_bce(scores, batch)
            losses = F.binary_cross_entropy_with_logits(scores, label.clamp(0, 1), reduction="none")
        else:
            of_bags = torch.square(residual(scores, batch, target="proportion")).mean()
            losses = torch.square(scores - label)
        return (1 - self.rho) * of_bags + self.rho * mean_over_instances(losses, batch.segment, batch.size)
