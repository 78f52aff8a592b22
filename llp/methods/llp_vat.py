"""LLP-VAT: the bag loss with virtual adversarial training as consistency regularisation.

Kuen-Han Tsai and Hsuan-Tien Lin, "Learning from label proportions with consistency regularization", ACML 2020.
Loss = dllp_bce + w(t) · mean KL(h ‖ h'), h' the prediction after a perturbation of a given length in the direction
that changes it most, and w(t) rising as weight · exp(-5 (1 - t)²) to its full value at t = 1.

Taken from the authors' public code (kevinorjohn/LLP-VAT), of the paper only the abstract was at hand. Differences:
the input is multi-hot, so the perturbation is added to the first hidden layer (before its relu); its length is
`radius` times that layer's root mean square length in the minibatch, with a default near the code's 6.0 on
standardised 32 × 32 × 3 images, whose length is about 55; and w(t) rises by the epoch. With one score the Hessian
of the divergence has rank one, so the code's power iteration from a random start gives ± the score's gradient, the
sign by a fair coin: that is taken as it is, without the iteration.
"""

import math
from typing import Any, ClassVar

import torch
from pydantic import NonNegativeFloat, NonNegativeInt
from torch import Tensor
from torch.nn import functional as F

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.methods.dllp import dllp_bce
from llp.models.hidden_layers import hidden_layers_of
from llp.ops.segment import mean_over_instances

NEED = "llp_vat, which perturbs the first one,"


def divergence(scores: Tensor, perturbed: Tensor) -> Tensor:
    """KL(h ‖ h') of two Bernoulli laws by their raw scores: (n,)."""
    return torch.sigmoid(scores) * (scores - perturbed) + F.softplus(perturbed) - F.softplus(scores)


def adversarial_direction(scores: Tensor, layer: Tensor, generator: torch.Generator) -> Tensor:
    """± the unit vector along each score's gradient with respect to its row of `layer`: (n, D), without gradient."""
    (gradient,) = torch.autograd.grad(scores.sum(), layer, retain_graph=True)
    coin = torch.randint(2, (len(scores), 1), generator=generator, device=scores.device)
    return F.normalize(gradient, dim=1) * (2 * coin - 1)


def ramp(epoch: int, *, ramp_epochs: int) -> float:
    """Share of the full weight at an epoch (from 0): exp(-5 (1 - t)²), t = epoch / ramp_epochs up to 1."""
    t = min(epoch / ramp_epochs, 1.0) if ramp_epochs else 1.0
    return math.exp(-5 * (1 - t) ** 2)


class LLPVAT(LLPMethod):
    """`dllp_bce` and a penalty on what a small adversarial change of the first hidden layer does to a prediction.

    Parameters
    ----------
    radius : float
        Length of the perturbation, in root mean square lengths of the first hidden layer.
    weight : float
        Full weight of the penalty.
    ramp_epochs : int
        Epochs until the full weight; 0 has it from the start.

    Raises
    ------
    InputError
        The model has no hidden layer.
    """

    static_shape: ClassVar[bool] = True
    penalty_weight: Tensor

    def __init__(
        self, *, radius: NonNegativeFloat, weight: NonNegativeFloat, ramp_epochs: NonNegativeInt, **shared: Any
    ) -> None:
        super().__init__(**shared)
        hidden_layers_of(self.model, needed_by=NEED)
        self.radius = radius
        self.weight = weight
        self.ramp_epochs = ramp_epochs
        at_first = torch.tensor(weight * ramp(0, ramp_epochs=ramp_epochs))
        self.register_buffer("penalty_weight", at_first, persistent=False)  # a number could not be replayed

    def on_train_epoch_start(self) -> None:
        """Begin the epoch's sums; raise the weight of the penalty."""
        super().on_train_epoch_start()
        self.penalty_weight.fill_(self.weight * ramp(self.current_epoch, ramp_epochs=self.ramp_epochs))

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`; the penalty needs more than the scores and is added in `batch_loss`."""
        return dllp_bce(scores, batch, reduction="mean")

    def batch_loss(self, batch: BagBatch) -> Tensor:
        """Bag loss and weighted penalty of one minibatch."""
        model = hidden_layers_of(self.model, needed_by=NEED)
        layer = model.first_layer(batch.categorical, batch.numeric)
        scores = model.score_from_first_layer(layer)
        self._count_bag_error(scores.detach(), batch)
        return self.bag_loss(scores, batch) + self.penalty_weight * self.penalty(layer, scores, batch)

    def penalty(self, layer: Tensor, scores: Tensor, batch: BagBatch) -> Tensor:
        """Mean divergence after the perturbation: a scalar from the first layer (n, D) and the scores (n,)."""
        squared = layer.detach().square().sum(dim=1)
        length = self.radius * mean_over_instances(squared, batch.segment, batch.size).sqrt()
        direction = adversarial_direction(scores, layer, self.generator("adversarial direction"))
        perturbed: Tensor = self.model.score_from_first_layer(layer + length * direction)  # type: ignore[operator]
        return mean_over_instances(divergence(scores.detach(), perturbed), batch.segment, batch.size)
