"""UPM: an unbiased estimate of the instances' squared error with a variance that does not grow with the bag.

Róbert Busa-Fekete et al., "Nearly optimal sample complexity for learning with label proportions", ICML 2025 (arXiv
2505.05355). Per bag k(α - h̄ + δ)² + δ², δ an estimate of E[h] - p from the minibatch's other bags, so independent of
the bag; 0 for a bag alone.
"""

from typing import Any

from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.segment import mean_over_other_bags, segment_mean


def upm(prediction: Tensor, batch: BagBatch, *, excess: Tensor) -> Tensor:
    """mean_B k(α - h̄ + δ)² + δ²: a scalar from predictions h (n,) and δ (M,) or a scalar.

    With the population's δ = E[h] - p its expectation over random bags is E[(Y - h)²]; δ from n other instances
    makes it too high by (k + 1) Var(h) / n.
    """
    size = batch.size.to(prediction.dtype)
    error = batch.label_proportion - segment_mean(prediction, batch.segment, batch.size) + excess
    return (size * error.square() + excess.square()).mean()


class UPM(LLPMethod):
    """Unbiased square loss, centred by the minibatch's other bags; with `detach` δ has no gradient."""

    def __init__(self, *, detach: bool, **shared: Any) -> None:
        super().__init__(**shared)
        self.detach_excess = detach

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        prediction = self.predict(scores)
        elsewhere = mean_over_other_bags(prediction, batch.segment, batch.size, alone=self.label_mean)
        excess = elsewhere - self.label_mean  # 0 where there is no other bag
        return upm(prediction, batch, excess=excess.detach() if self.detach_excess else excess)
