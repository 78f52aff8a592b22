"""OT-LLP and EROT-LLP: pseudo-labels by optimal transport of each bag's label mass to its instances.

Gabriel Dulac-Arnold et al., "Deep multi-class learning from label proportions", 2019 (arXiv 1905.12909); Jiabin Liu
et al., "Two-stage training for learning from label proportions", IJCAI 2021, eq. 7. A first stage trains with
`dllp_bce`; from its weights the second one goes on with the cross-entropy to the pseudo-labels of the current
scores, which carry no gradient. As in the benchmark's authors' code OT-LLP sums over the bags, EROT-LLP averages.
"""

from typing import Any, ClassVar, Literal

from pydantic import PositiveFloat
from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.bce import mean_instance_bce
from llp.ops.transport import entropic_labels, transport_labels

PseudoLabels = Literal["soft", "hard"]


def entropic_loss(scores: Tensor, batch: BagBatch, *, reg: float, pseudo_labels: PseudoLabels) -> Tensor:
    """Mean over the bags of the cross-entropy to the entropic transport's labels, soft or cut at 0.5."""
    label = entropic_labels(scores, batch.segment, batch.size, batch.label_sum, reg=reg)
    if pseudo_labels == "hard":
        label = (label > 0.5).to(scores.dtype)
    return mean_instance_bce(scores, label, batch.segment, batch.size).mean()


class OTLLP(LLPMethod):
    """Cross-entropy to labels that are 1 for exactly the y_B highest scores of each bag, summed over the bags."""

    static_shape: ClassVar[bool] = True

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        label = transport_labels(scores, batch.segment, batch.size, batch.label_sum)
        return mean_instance_bce(scores, label, batch.segment, batch.size).sum()


class EROTLLP(LLPMethod):
    """Cross-entropy to labels of the entropic transport problem, averaged over the bags.

    Parameters
    ----------
    reg : float
        Weight of the entropy.
    pseudo_labels : {'soft', 'hard'}
        The transport plan's labels as they are, or 1 where they are above 0.5.
    """

    static_shape: ClassVar[bool] = True

    def __init__(self, *, reg: PositiveFloat, pseudo_labels: PseudoLabels, **shared: Any) -> None:
        super().__init__(**shared)
        self.reg = reg
        self.pseudo_labels: PseudoLabels = pseudo_labels

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        return entropic_loss(scores, batch, reg=self.reg, pseudo_labels=self.pseudo_labels)
