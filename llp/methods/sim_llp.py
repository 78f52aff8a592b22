"""SIM-LLP: instances that look alike get predictions that are alike.

Dimitrios Kotzias et al., "From group to individual labels using deep features", KDD 2015, eq. 3. A first model,
trained with `dllp_mse` and frozen, gives the metric: its penultimate layer r(x). The second starts afresh with
the loss  mean over pairs of exp(-‖r_i - r_j‖²) (h_i - h_j)²  +  λ · dllp_mse.

The benchmark's authors' code has two slips, which `squash: sigmoid` and `weighting: row_mean` repeat: a second
sigmoid on h, and a product of shapes in which the weight of a pair became the mean weight of one of its members.
"""

from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

import torch
from pydantic import Field, NonNegativeFloat
from torch import Tensor, nn

from llp.data.batch import BagBatch
from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.methods.dllp import residual

Squash = Literal["none", "sigmoid"]
Weighting = Literal["pairwise", "row_mean"]


@runtime_checkable
class HasRepresentation(Protocol):
    """A model with a penultimate layer."""

    def representation(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, D) of the last hidden layer."""


def draw_instances(segment: Tensor, n_bags: int, n_drawn: int, generator: torch.Generator) -> Tensor:
    """Positions (n_drawn,) of instances drawn without replacement; those of no bag come after all the others."""
    order = torch.randperm(len(segment), generator=generator, device=segment.device)
    return order[torch.argsort((segment[order] == n_bags).byte(), stable=True)[:n_drawn]]


def shares(segment: Tensor, n_bags: int, dtype: torch.dtype) -> Tensor:
    """Weight of each of m instances in a mean over those of a bag, times m: (m,); 1 where all are of a bag."""
    in_a_bag = (segment < n_bags).to(dtype)
    return in_a_bag * len(segment) / in_a_bag.sum()


def pair_weights(representation: Tensor, *, weighting: Weighting, share: Tensor | float = 1.0) -> Tensor:
    """exp(-‖r_i - r_j‖²) of representations r (m, D): (m, m), or the mean (m, 1) of each row.

    `share` (m,) weighs the instances in that mean, see `shares`.
    """
    r = representation - representation.mean(dim=0)  # short vectors keep the digits of their squared distances
    squared = torch.square(torch.cdist(r, r, compute_mode="use_mm_for_euclid_dist"))
    # beyond 80 exp would give denormal numbers, with which a processor computes fifty times as slowly
    weights = torch.exp(-squared.clamp(max=80)).masked_fill(squared > 80, 0)
    return weights if weighting == "pairwise" else (weights * share).mean(dim=1, keepdim=True)


def similarity_loss(prediction: Tensor, weights: Tensor) -> Tensor:
    """Mean over all pairs (i, j) of weights (m, m) or (m, 1) times (h_i - h_j)², from predictions h (m,)."""
    return (weights * torch.square(prediction[:, None] - prediction)).mean()


class SimLLP(LLPMethod):
    """Similarity loss on sampled instances of the minibatch plus λ times `dllp_mse`.

    Parameters
    ----------
    pair_instances : int
        Instances drawn without replacement from the minibatch for the pairs; all when there are fewer.
    bag_weight : float
        λ.
    squash : {'none', 'sigmoid'}
        What is done to the predictions before they are compared.
    weighting : {'pairwise', 'row_mean'}
        See `pair_weights`.
    """

    static_shape: ClassVar[bool] = True

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
        if not isinstance(trained, HasRepresentation):
            raise InputError(
                f"sim_llp measures distances in the model's penultimate layer, which {type(trained).__name__} "
                "lacks; write model=mlp"
            )
        # in a tuple it is no submodule: not optimized, not in checkpoints, never set back to training mode
        self._metric = (trained.requires_grad_(False).eval(),)

    def on_fit_start(self) -> None:
        """Bring the metric to the device of the model."""
        self._metric[0].to(self.device)

    def representation(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """r(x) (m, D) of the frozen metric."""
        with torch.no_grad():
            out: Tensor = self._metric[0].representation(categorical, numeric)
        return out

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        prediction = self.predict(scores)
        bag_loss = torch.square(residual(prediction, batch, target="proportion")).mean()
        categorical, numeric, segment, n_bags = batch.categorical, batch.numeric, batch.segment, len(batch.size)
        if len(scores) > self.pair_instances:
            drawn = draw_instances(segment, n_bags, self.pair_instances, self.generator("pair instances"))
            prediction, segment = prediction[drawn], segment[drawn]
            categorical, numeric = categorical[drawn], numeric[drawn]
        if self.squash == "sigmoid":
            prediction = torch.sigmoid(prediction)
        share = shares(segment, n_bags, prediction.dtype)
        weights = pair_weights(self.representation(categorical, numeric), weighting=self.weighting, share=share)
        weights = weights * share[:, None] * share
        return similarity_loss(prediction, weights) + self.bag_weight * bag_loss
