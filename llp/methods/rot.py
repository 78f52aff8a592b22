"""ROT: the bag loss together with pseudo-labels by entropic optimal transport, in one stage.

Gabriel Dulac-Arnold et al., "Deep multi-class learning from label proportions", 2019 (arXiv 1905.12909), as in LLP-MM's
code (2026): weight × bag cross-entropy + (1 - weight) × cross-entropy to labels of entropic transport with `reg` 1 of
the current probabilities. That code stops after three Sinkhorn steps and takes the likelier class; here the problem is
solved.
"""

from typing import Any

from torch import Tensor

from llp.config.options import Share
from llp.data.batch import BagBatch
from llp.methods.dllp import dllp_bce
from llp.methods.ot import EROTLLP


class ROT(EROTLLP):
    """Mean of `dllp_bce`, which counts with `weight`, and the loss of `EROTLLP`, whose options it has."""

    def __init__(self, *, weight: Share, **shared: Any) -> None:
        super().__init__(**shared)
        self.weight = weight

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        return self.weight * dllp_bce(scores, batch) + (1 - self.weight) * super().bag_loss(scores, batch)
