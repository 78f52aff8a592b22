"""LLP-DC: the bag loss together with hard pseudo-labels of the right number, where instances are sure of theirs.

Tianhao Ma, Ximing Li, Changchun Li and Renchu Guan, "Learning from label proportions with dual-proportion constraints",
CVPR 2026 Findings (arXiv 2603.21153). Bag cross-entropy + weight × cross-entropy to labels that fit the bag's sum at
the least -log probability: the y highest scores (`llp.ops.transport.transport_labels`). An instance counts whose label
has at least the probability `threshold` (0.95, not the code's 0.6 for 100 classes), the sum is over all instances'
number. That code changes images for pseudo-labels and for losses; here both are of the row itself.
"""

from typing import Any, ClassVar

import torch
from pydantic import NonNegativeFloat
from torch import Tensor
from torch.nn import functional as F

from llp.config.options import Share
from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.methods.dllp import dllp_bce
from llp.ops.segment import mean_over_instances
from llp.ops.transport import transport_labels


class LLPDC(LLPMethod):
    """`dllp_bce` + weight × cross-entropy to labels of the y highest scores, of probability `threshold` or more."""

    own_means: ClassVar[tuple[str, ...]] = ("confident",)

    def __init__(self, *, weight: NonNegativeFloat, threshold: Share, **shared: Any) -> None:
        super().__init__(**shared)
        self.weight = weight
        self.threshold = threshold

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        label = transport_labels(scores, batch.segment, batch.size, batch.label_sum)
        h = torch.sigmoid(scores.detach())
        counts = (torch.where(label > 0.5, h, 1 - h) >= self.threshold).to(scores.dtype)
        losses = F.binary_cross_entropy_with_logits(scores, label, reduction="none") * counts
        self.epoch_means.add("confident", mean_over_instances(counts, batch.segment, batch.size), 1)
        instance_loss = mean_over_instances(losses, batch.segment, batch.size)
        return dllp_bce(scores, batch) + self.weight * instance_loss
