"""SIM-LLP: instances that look alike get predictions that are alike.

Dimitrios Kotzias et al., "From group to individual labels using deep features", KDD 2015, eq. 3. A first model,
trained with `dllp_mse` and frozen, gives the metric: its penultimate layer r(x). The second starts afresh with
the loss  mean over pairs of exp(-‖r_i - r_j‖²) (h_i - h_j)²  +  λ · dllp_mse.

The benchmark's authors' code has two slips, which `squash: sigmoid` and `weighting: row_mean` repeat: a second
sigmoid on h, and a product of shapes in which the weight of a pair became the mean weight of one of its members.
"""

from typing import Annotated, Any, Literal

import torch
from pydantic import Field, NonNegativeFloat
from torch import Tensor, nn

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.methods.dllp import residual
from llp.models.hidden_layers import hidden_layers_of

Squash = Literal["none", "sigmoid"]
Weighting = Literal["pairwise", "row_mean"]
NEED = "sim_llp, which measures distances in the last one,"


def pair_weights(representation: Tensor, *, weighting: Weighting) -> Tensor:
    """exp(-‖r_i - r_j‖²) of representations r (m, D): (m, m), or the mean (m, 1) of each row."""
    r = representation - representation.mean(dim=0)  # short vectors keep the digits of their squared distances
    # as a matrix product, which is many times as fast as the differences of m² pairs
    squared = torch.square(torch.cdist(r, r, compute_mode="use_mm_for_euclid_dist"))
    # beyond 80 exp would give denormal numbers, with which a processor computes fifty times as slowly
    weights = torch.exp(-squared.clamp(max=80)).masked_fill(squared > 80, 0)
    return weights if weighting == "pairwise" else weights.mean(dim=1, keepdim=True)


def similarity_loss(prediction: Tensor, weights: Tensor) -> Tensor:
    """Mean over all pairs (i, j) of weights (m, m) or (m, 1) times (h_i - h_j)², from predictions h (m,)."""
    return (weights * torch.square(prediction[:, None] - prediction)).mean()


def draw_instances(n: int, n_drawn: int, generator: torch.Generator) -> Tensor:
    """Positions (m,) int64 of `n_drawn` of n instances, or of all of them, in order, where there are no more."""
    if n <= n_drawn:
        return torch.arange(n, device=generator.device)
    return torch.randperm(n, generator=generator, device=generator.device)[:n_drawn]


class SimLLP(LLPMethod):
    """Similarity loss on `pair_instances` drawn of the minibatch plus λ (`bag_weight`) times `dllp_mse`."""

    def __init__(
        self,
        *,
        pair_instances: Annotated[int, Field(ge=2)],
        bag_weight: NonNegativeFloat,
        squash: Squash,
        weighting: Weighting,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.pair_instances = pair_instances
        self.bag_weight = bag_weight
        self.squash: Squash = squash
        self.weighting: Weighting = weighting

    def start_from(self, trained: nn.Module) -> None:
        """Keep the first stage's model, frozen, as the metric; the own model keeps its fresh weights."""
        hidden_layers_of(trained, needed_by=NEED)
        # in a tuple it is no submodule: not optimized, not in checkpoints, never set back to training mode
        self._metric = (trained.requires_grad_(False).eval(),)

    def on_fit_start(self) -> None:
        """Bring the metric to the device of the model."""
        self._metric[0].to(self.device)

    @torch.no_grad()
    def representation(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """r(x) (m, D) of the frozen metric."""
        return hidden_layers_of(self._metric[0], needed_by=NEED).representation(categorical, numeric)

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        h = self.predict(scores)
        bag_loss = torch.square(residual(h, batch, target="proportion")).mean()
        # pairs across the minibatch's bags: likeness carries what one bag teaches over to the instances of another
        drawn = draw_instances(len(h), self.pair_instances, self.generator("pair instances"))
        r = self.representation(batch.categorical[drawn], batch.numeric[drawn])
        h = torch.sigmoid(h[drawn]) if self.squash == "sigmoid" else h[drawn]
        weights = pair_weights(r, weighting=self.weighting)
        return similarity_loss(h, weights) + self.bag_weight * bag_loss
