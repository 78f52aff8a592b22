"""LLP-VAT: the bag loss with virtual adversarial training as consistency regularisation.

Kuen-Han Tsai and Hsuan-Tien Lin, "Learning from label proportions with consistency regularization", ACML 2020.
Loss = dllp_bce + w(t) · mean KL(h ‖ h'), h' the prediction after a perturbation of a given length in the direction
that changes it most, and w(t) rising as weight · exp(-5 (1 - t)²) to its full value at t = 1.

Differences from the authors' code (kevinorjohn/LLP-VAT): the input is multi-hot, so the perturbation is added to the
first hidden layer (before its relu), and its length is `radius` times that layer's root mean square length in the
minibatch, with a default near the code's 6.0 on standardised 32 × 32 × 3 images, whose length is about 55. The full
weight is 1 in place of 0.05, after `ramp_epochs`, 0.4 of 5 as there of 400: logits of two layers move little, so that
0.05 left nothing of the penalty. With one score the Hessian of the divergence has rank one, so the code's power
iteration from a random start gives ± the score's gradient, the sign by a fair coin: that is taken as it is.
"""

from typing import Any

import torch
from pydantic import NonNegativeFloat
from torch import Tensor
from torch.nn import functional as F

from llp.data.batch import BagBatch
from llp.data.train_split import TrainSplit
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


def ramp(steps: Tensor, *, ramp_steps: float) -> Tensor:
    """Share of the full weight after `steps` (a scalar) steps: exp(-5 (1 - t)²), t = steps / ramp_steps up to 1."""
    t = (steps / ramp_steps).clamp(max=1) if ramp_steps else torch.ones_like(steps)
    return torch.exp(-5 * (1 - t) ** 2)


class LLPVAT(LLPMethod):
    """`dllp_bce` and a penalty on what a small adversarial change of the first hidden layer does to a prediction.

    `radius`: its length in root mean square ones; the penalty's full `weight` comes after `ramp_epochs` of steps.
    """

    steps: Tensor

    def __init__(
        self, *, radius: NonNegativeFloat, weight: NonNegativeFloat, ramp_epochs: NonNegativeFloat, **shared: Any
    ) -> None:
        super().__init__(**shared)
        hidden_layers_of(self.model, needed_by=NEED)
        self.radius = radius
        self.weight = weight
        self.ramp_epochs = ramp_epochs
        self.ramp_steps = 0.0
        self.register_buffer("steps", torch.zeros(()))  # taken so far

    def take_train_split(self, split: TrainSplit) -> None:
        """Count the steps of the ramp."""
        super().take_train_split(split)
        self.ramp_steps = self.ramp_epochs * split.minibatches

    def after_step(self) -> None:
        """Let the weight of the penalty rise."""
        self.steps.add_(1)

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        return dllp_bce(scores, batch)

    def scores_and_penalty(self, batch: BagBatch) -> tuple[Tensor, Tensor]:
        """See `LLPMethod.scores_and_penalty`: w(t) times the mean divergence after the perturbation."""
        model = hidden_layers_of(self.model, needed_by=NEED)
        layer = model.first_layer(batch.categorical, batch.numeric)
        scores = self.started(model.score_from_first_layer(layer))
        squared = layer.detach().square().sum(dim=1)
        length = self.radius * mean_over_instances(squared, batch.segment, batch.size).sqrt()
        direction = adversarial_direction(scores, layer, self.generator("adversarial direction"))
        perturbed = self.started(model.score_from_first_layer(layer + length * direction))
        moved = mean_over_instances(divergence(scores.detach(), perturbed), batch.segment, batch.size)
        return scores, self.weight * ramp(self.steps, ramp_steps=self.ramp_steps) * moved
