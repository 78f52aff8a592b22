"""ROT: the bag loss together with pseudo-labels by entropic optimal transport, in one stage.

Gabriel Dulac-Arnold et al., "Deep multi-class learning from label proportions", 2019 (arXiv 1905.12909), as in LLP-MM's
code (2026): weight × bag cross-entropy + (1 - weight) × cross-entropy to labels of entropic transport with `reg` 1 of
the current probabilities. That code stops after three Sinkhorn steps and takes the likelier class; here the problem is
solved.
"""

from typing import Any

from pydantic import PositiveFloat
from torch import Tensor

from llp.config.options import Share
from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.methods.dllp import dllp_bce
from llp.methods.ot import PseudoLabels, TransportSolver, entropic_loss


class ROT(LLPMethod):
    """Mean of `dllp_bce`, which counts with `weight`, and the entropic transport's pseudo-label loss; see `EROTLLP`."""

    def __init__(
        self, *, weight: Share, reg: PositiveFloat, pseudo_labels: PseudoLabels, solver: TransportSolver, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.weight = weight
        self.reg = reg
        self.pseudo_labels: PseudoLabels = pseudo_labels
        self.solver: TransportSolver = solver

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        instance_loss = entropic_loss(scores, batch, reg=self.reg, pseudo_labels=self.pseudo_labels, solver=self.solver)
        return self.weight * dllp_bce(scores, batch) + (1 - self.weight) * instance_loss
