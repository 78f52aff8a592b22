"""MixBag: bags mixed from parts of two bags, with a loss that forgives what the mixing leaves uncertain.

Takanori Asanomi, Shinnosuke Matsuo, Daiki Suehiro and Ryoma Bise, "MixBag: bag-level data augmentation for learning
from label proportions", ICCV 2023. Each bag is, with probability 1/2, replaced by a random part of it joined to a
random part of another bag. The mixed bag's label proportion is known only in expectation, so its loss counts only
where the mean prediction lies outside a confidence band around that expectation.

Differences from the authors' code (asanomitakanori/Mixbag): the other bag is of the same minibatch, which the order of
the bags, drawn again in every epoch, makes a uniform draw from the whole train split, as the code's is (what it is
not: independent of the step's other mixed bags); the parts are a uniform share γ of the one bag and 1 - γ of the
other, since bags here differ in size (for equal sizes this is the code's draw); and the half-width of the band weights
both bags' deviations by their shares, a·e₁ + b·e₂, where the code multiplies the first by the normal quantile once
more in place of a (option `band: authors_code`).
"""

from statistics import NormalDist
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from llp.config.options import Share
from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.bce import bag_bce
from llp.ops.segment import rank_in_segment, segment_mean, to_instances

Band = Literal["weighted", "authors_code", "none"]


class Mix(NamedTuple):
    """The draw of M mixed bags from the M bags of a minibatch, int64."""

    partner: Tensor  # (M,), the bag that each is mixed with
    n_own: Tensor  # (M,), instances taken of the bag
    n_partner: Tensor  # (M,), instances taken of its partner
    taken: Tensor  # (n',), the instances taken
    segment: Tensor  # (n',), the mixed bag that each goes to


def draw_of_each_bag(segment: Tensor, size: Tensor, n_drawn: Tensor, uniform: Tensor) -> Tensor:
    """Positions (sum of n_drawn,) int64 of `n_drawn` (M,) instances of each bag, from draws (n,) in [0, 1)."""
    return (rank_in_segment(uniform, segment, size) < to_instances(n_drawn, segment)).nonzero().squeeze(1)


def draw_mix(batch: BagBatch, generator: torch.Generator) -> Mix:
    """Draw a partner for each bag (all in one random cycle), a share γ ~ U(0, 1) and the instances of both parts."""
    size, segment, device = batch.size, batch.segment, batch.size.device
    n_bags = len(size)
    # one cycle through all bags: nobody's partner is itself, and each bag is lent exactly once
    cycle = torch.randperm(n_bags, generator=generator, device=device)
    partner = torch.empty_like(cycle)
    partner[cycle] = cycle.roll(-1)
    mixed_into = torch.empty_like(cycle)  # the bag whose partner a bag is
    mixed_into[partner] = torch.arange(n_bags, device=device)
    share = torch.rand(n_bags, generator=generator, device=device)
    n_own = (share * size).round().long().clamp(min=1)  # an empty part would leave a bag unmixed
    n_partner = ((1 - share) * size[partner]).round().long().clamp(min=1)
    uniform = torch.rand(2, len(segment), generator=generator, device=device)
    own = draw_of_each_bag(segment, size, n_own, uniform[0])
    lent = draw_of_each_bag(segment, size, n_partner[mixed_into], uniform[1])
    taken, mixed_bag = torch.cat([own, lent]), torch.cat([segment[own], mixed_into[segment[lent]]])
    return Mix(partner, n_own, n_partner, taken, mixed_bag)


def expectation_and_band(
    own: Tensor, partner: Tensor, n_own: Tensor, n_partner: Tensor, *, tail: float, band: Band
) -> tuple[Tensor, Tensor]:
    """Expected label proportion of mixed bags and half-width of its band of tails `tail`: (M,) each.

    The first bag's deviation weighs its share (`weighted`) or the normal quantile (`authors_code`); `none`: no width.
    """
    quantile = NormalDist().inv_cdf(1 - tail)
    share = n_own / (n_own + n_partner)
    deviation = quantile * torch.sqrt(own * (1 - own) / n_own)
    deviation_partner = quantile * torch.sqrt(partner * (1 - partner) / n_partner)
    expected = share * own + (1 - share) * partner
    if band == "none":
        return expected, torch.zeros_like(expected)
    weight = share if band == "weighted" else quantile
    return expected, weight * deviation + (1 - share) * deviation_partner


def mixed_bag_losses(scores: Tensor, batch: BagBatch, mix: Mix, *, tail: float, band: Band) -> tuple[Tensor, Tensor]:
    """Cross-entropy of each mixed bag (M,), without gradient inside its band, and whether it is there (M,)."""
    alpha = batch.label_proportion.clamp(0, 1)  # of a noisy sum it may lie outside, where no band is
    expected, width = expectation_and_band(alpha, alpha[mix.partner], mix.n_own, mix.n_partner, tail=tail, band=band)
    taken, size = scores[mix.taken], mix.n_own + mix.n_partner
    mean = segment_mean(torch.sigmoid(taken.detach()), mix.segment, size)
    # bce(e, e): a constant, so a bag inside the band counts in the loss and has no gradient
    entropy = -torch.xlogy(expected, expected) - torch.xlogy(1 - expected, 1 - expected)
    inside = (mean - expected).abs() <= width
    return torch.where(inside, entropy, bag_bce(taken, mix.segment, size, expected)), inside


class MixBag(LLPMethod):
    """`dllp_bce` on bags, each with `probability` replaced by a mixed one with a band of tails `tail`."""

    own_means: ClassVar[tuple[str, ...]] = ("inside_band",)

    def __init__(
        self, *, probability: Share, tail: Annotated[float, Field(gt=0, lt=0.5)], band: Band, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.probability = probability
        self.tail = tail
        self.band: Band = band

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`. A bag that is alone in its minibatch stays as it is."""
        losses = bag_bce(scores, batch.segment, batch.size, batch.label_proportion)
        if len(batch.size) > 1:
            generator = self.generator("mixbag")
            replaced = torch.rand(len(losses), generator=generator, device=losses.device) < self.probability
            mix = draw_mix(batch, generator)
            mixed, inside = mixed_bag_losses(scores, batch, mix, tail=self.tail, band=self.band)
            self.epoch_means.add("inside_band", (replaced & inside).sum(), replaced.sum())
            losses = torch.where(replaced, mixed, losses)
        return losses.mean()
