"""Event level: every instance has its bag's label proportion as a soft label (PriorBoost, arXiv 2402.04987)."""

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.segment import mean_over_instances, to_instances


class SoftLabels(LLPMethod):
    """Cross-entropy of each instance's prediction against the label proportion of its bag."""

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """Mean over the instances of a minibatch."""
        label = to_instances(batch.label_proportion, batch.segment)
        losses = binary_cross_entropy_with_logits(scores, label, reduction="none")
        return mean_over_instances(losses, batch.segment, batch.size)
