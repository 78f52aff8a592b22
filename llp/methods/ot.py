"""OT-LLP and EROT-LLP: pseudo-labels by optimal transport of each bag's label mass to its instances.

Gabriel Dulac-Arnold et al., "Deep multi-class learning from label proportions", 2019 (arXiv 1905.12909); Jiabin Liu
et al., "Two-stage training for learning from label proportions", IJCAI 2021, eq. 7. A first stage trains with
`dllp_bce`; from its weights the second one continues with the cross-entropy to the pseudo-labels of the current
scores, which carry no gradient. As in the benchmark's authors' code OT-LLP sums over the bags, EROT-LLP averages.
"""

from types import ModuleType
from typing import Any, Literal

from pydantic import PositiveFloat
from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops import transport
from llp.ops.bce import mean_instance_bce

PseudoLabels = Literal["soft", "hard"]
TransportSolver = Literal["closed_form", "pot"]


def solved_by(solver: TransportSolver) -> ModuleType:
    """Give the module that solves the transport problems."""
    if solver == "closed_form":
        return transport
    from llp.ops import transport_pot  # POT takes a while to import

    return transport_pot


class OTLLP(LLPMethod):
    """Cross-entropy to labels that are 1 for exactly the y_B highest scores of each bag, summed over the bags."""

    def __init__(self, *, solver: TransportSolver, **shared: Any) -> None:
        super().__init__(**shared)
        self.solver: TransportSolver = solver

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        label = solved_by(self.solver).transport_labels(scores, batch.segment, batch.size, batch.label_sum)
        return mean_instance_bce(scores, label, batch.segment, batch.size).sum()


class EROTLLP(LLPMethod):
    """Cross-entropy to entropic labels (weight `reg`, `soft` or cut at 0.5), averaged over the bags."""

    def __init__(
        self, *, reg: PositiveFloat, pseudo_labels: PseudoLabels, solver: TransportSolver, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.reg = reg
        self.pseudo_labels: PseudoLabels = pseudo_labels
        self.holds_constant = pseudo_labels == "soft"
        self.solver: TransportSolver = solver

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        solver = solved_by(self.solver)
        label = solver.entropic_labels(scores, batch.segment, batch.size, batch.label_sum, reg=self.reg)
        if self.pseudo_labels == "hard":
            label = (label > 0.5).to(scores.dtype)
        return mean_instance_bce(scores, label, batch.segment, batch.size).mean()
