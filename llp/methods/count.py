"""Count loss: the likelihood of each bag's number of positives.

Vinay Shukla, Zhe Zeng, Kareem Ahmed and Guy Van den Broeck, "A unified approach to count-based weakly supervised
learning", NeurIPS 2023: Y_i ~ Bernoulli(h_i), loss -log P(Σ Y_i = y_B), mean over the bags. Their code runs the
recursion over the instances; here it comes from `llp.ops.poisson_binomial`, for bags of every size at once.
"""

from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.poisson_binomial import log_count_probability


class Count(LLPMethod):
    """Negative log-likelihood of the bags' counts."""

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """Mean over the bags of -log P(Σ Y_i = y_B), a noisy sum taken as the nearest count."""
        count = batch.label_sum.round().clamp(min=0).minimum(batch.size)
        return -log_count_probability(scores, batch.segment, batch.size, count).mean()
