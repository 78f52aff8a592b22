"""Checks of the loss of a minibatch: each gives what it measured, or raises `NotKeptError`."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llp.conformance.case import Case, NotKeptError
from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.methods.returned import check_loss

LARGEST = 1e4  # absolute score that a loss and its gradient are finite of
SHAPES = {
    "pure bags": ([5, 3, 4, 6, 2, 7, 1, 3], [5.0, 0.0, 4.0, 0.0, 0.0, 7.0, 1.0, 0.0]),
    "all negative": ([5, 3, 4], [0.0, 0.0, 0.0]),
    "all positive": ([5, 3, 4], [5.0, 3.0, 4.0]),
    "bags of one": ([1] * 8, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
    "one bag of one": ([1], [1.0]),
    "a bag of 2,500": ([2500, 2], [611.0, 1.0]),
    "fewer than 8 bags": ([4, 9, 1, 30, 6], [1.0, 4.0, 0.0, 29.0, 3.0]),
    "eight bags": ([40, 60, 20, 10, 5, 50, 33, 70], [4.0, 30.0, 19.0, 1.0, 1.0, 49.0, 11.0, 36.0]),
}
ORDERED = ([30, 1, 12, 50, 9], [11.0, 1.0, 0.0, 20.0, 5.0])  # the minibatch that is put in another order
STEPS, STANDARD_ERRORS = 200, 6.0  # over which losses with draws are averaged, by which such means may differ
_NAMES = ("the loss", "a derivative")


def scores_of(n: int) -> dict[str, Tensor]:
    """Ordinary and extreme scores, (n,) each."""
    normal = torch.randn(n, generator=torch.Generator().manual_seed(n))
    return {
        "ordinary": normal,
        "equal": torch.full((n,), 0.7),
        "zero": torch.zeros(n),
        "high": torch.full((n,), LARGEST),
        "low": torch.full((n,), -LARGEST),
        "high and low": torch.sign(normal) * LARGEST,
        "spread": (normal * 0.4 * LARGEST).clamp(-LARGEST, LARGEST),
    }


def loss_and_gradient(method: LLPMethod, scores: Tensor, batch: BagBatch) -> tuple[Tensor, Tensor]:
    """Loss of a minibatch, a scalar, and its gradient by the scores (n,)."""
    scores = scores.clone().requires_grad_()
    loss = method.bag_loss(scores, batch)
    check_loss(loss, method)
    (gradient,) = torch.autograd.grad(loss, scores)
    return loss.detach(), gradient


def finite(case: Case) -> str:
    """Loss and gradient of any minibatch are finite, also where scores are extreme."""
    method = case.ready()
    for shape, (sizes, label_sum) in SHAPES.items():
        batch = case.batch(sizes, label_sum)
        for how, scores in scores_of(sum(sizes)).items():
            check_finite(method, scores, batch, f"{shape}, {how} scores")
    return f"loss and gradient are finite on {len(SHAPES)} minibatches with scores up to {LARGEST:g}"


def check_finite(method: LLPMethod, scores: Tensor, batch: BagBatch, what: str) -> None:
    """Raise where the loss or its gradient is not finite."""
    loss, gradient = loss_and_gradient(method, scores, batch)
    if not (torch.isfinite(loss) and torch.isfinite(gradient).all()):
        n = int((~torch.isfinite(gradient)).sum())
        raise NotKeptError(f"{what}: the loss is {float(loss):g}, {n} of {len(gradient)} derivatives are not finite")


def gradient(case: Case) -> str:
    """The gradient is the derivative of the loss, but where the method says that it holds a part constant."""
    method, step = case.ready(torch.float64), 1e-6
    if method.holds_constant:
        return "not compared with numerical derivatives: the method holds a part of its loss constant"
    batch = case.batch([4, 1, 7, 5, 2], [1.0, 1.0, 3.0, 0.0, 1.0], torch.float64)
    # distinct scores: labels that rank them stay as they are under small steps
    scores = torch.arange(19, dtype=torch.float64) * 7 % 19 / 5 - 1.7
    _, found = loss_and_gradient(method, scores, batch)
    moved = step * torch.eye(19, dtype=torch.float64)
    above, below = ([method.bag_loss(scores + sign * one, batch).item() for one in moved] for sign in (1, -1))
    numerical = (torch.tensor(above, dtype=torch.float64) - torch.tensor(below, dtype=torch.float64)) / (2 * step)
    difference = (found - numerical).abs()
    worst = int((difference - 1e-4 * numerical.abs()).argmax())
    if not difference[worst] <= 1e-6 + 1e-4 * numerical[worst].abs():  # NaN is neither
        raise NotKeptError(
            f"a derivative is {float(found[worst]):.4g}, numerically {float(numerical[worst]):.4g}; a method that "
            "holds a part of its loss constant, as pseudo-labels, sets self.holds_constant = True"
        )
    return f"derivatives are as numerical ones up to {float(difference.max()):.1g}"


def permutation(case: Case) -> str:
    """The order of the instances in a bag, and of the bags, changes nothing; on average, where a step draws."""
    method, (sizes, label_sum), rng = case.ready(torch.float64), ORDERED, np.random.default_rng(3)
    batch, n = case.batch(sizes, label_sum, torch.float64), sum(sizes)
    scores, place = torch.from_numpy(rng.normal(size=n)), rng.permutation(len(sizes))  # no ties

    def ordered(instances: NDArray[np.int64], bags: NDArray[np.int64], what: str) -> str:
        order, size = torch.from_numpy(instances), batch.size[bags]
        segment = torch.repeat_interleave(torch.arange(len(bags)), size)
        features = batch.categorical[order], batch.numeric[order]
        return _same(method, scores, batch, BagBatch(*features, segment, size, batch.label_sum[bags]), order, what)

    inside = np.lexsort((rng.random(n), batch.segment))
    said = ordered(inside, np.arange(len(sizes)), "instances in another order inside their bags")
    if method.groups_bags:
        return f"{said}; bags: not compared, the method groups them as they come"
    moved = np.argsort(place[batch.segment], kind="stable")
    return f"{said}; {ordered(moved, np.argsort(place), 'bags in another order')}"


def padding(case: Case) -> str:
    """How large a neighbour is changes nothing of a bag's gradient: padding to the largest bag does not count."""
    method, (sizes, label_sum), n = case.ready(torch.float64), ORDERED, sum(ORDERED[0])
    scores = torch.from_numpy(np.random.default_rng(3).normal(size=n))

    def found(one: int, score: float, share: float) -> Tensor:
        """The gradient beside two bags of 200 instances in all, which have one score and one label proportion."""
        batch = case.batch([*sizes, one, 200 - one], [*label_sum, share * one, share * (200 - one)], torch.float64)
        return loss_and_gradient(method, torch.cat([scores, torch.full((200,), score).double()]), batch)[1][:n]

    alike, unlike = found(100, 0.3, 0.5), found(60, 0.3, 0.5)
    difference, largest = float((alike - unlike).abs().max()), float(alike.abs().max())
    if difference <= 1e-6 * largest:
        return f"sizes of other bags change no bag's gradient, up to {difference:.1g}"
    if not (torch.equal(alike, found(100, 1.3, 0.5)) and torch.equal(alike, found(100, 0.3, 0.2))):
        return "not compared: other bags' scores or sums change a bag's gradient"
    raise NotKeptError(f"sizes of other bags change a bag's gradient by {difference:.2g} of {largest:.2g}")


def _same(method: LLPMethod, scores: Tensor, batch: BagBatch, other: BagBatch, order: Tensor, what: str) -> str:
    """Compare the losses and gradients of a minibatch and of another one of its instances in an order."""

    def both(step: int) -> Tensor:
        method.steps_taken = step
        loss, by_score = loss_and_gradient(method, scores, batch)
        second, unordered = loss_and_gradient(method, scores[order], other)
        ordered = torch.empty_like(unordered).index_copy(0, order, unordered)
        return torch.stack([torch.cat([loss[None], by_score]), torch.cat([second[None], ordered])])

    one, two = both(0)
    allowed = torch.cat([1e-5 * one[:1].abs() + 1e-9, 1e-5 * one[1:].abs().max().expand(len(scores)) + 1e-12])
    difference = (one - two).abs()
    if (difference <= allowed).all():
        return f"{what} change nothing, up to {float(difference.max()):.1g}"
    if torch.equal(one, both(1)[0]):
        at = int((difference - allowed).argmax())
        raise NotKeptError(f"{what}: {_NAMES[at > 0]} is {float(two[at]):.6g} in place of {float(one[at]):.6g}")
    drawn = torch.stack([both(step) for step in range(STEPS)])
    means, error = drawn.mean(0), (drawn.var(0).sum(0) / STEPS).sqrt()
    off = ((means[0] - means[1]).abs() - allowed).clamp(min=0) / error.clamp(min=1e-300)
    if not (worst := float(off.max())) <= STANDARD_ERRORS:  # NaN is neither
        at = int(off.argmax())
        raise NotKeptError(
            f"{what}: on average over {STEPS} steps' draws {_NAMES[at > 0]} is {float(means[1][at]):.4g} in place of "
            f"{float(means[0][at]):.4g}, {worst:.0f} standard errors off"
        )
    return f"{what} change nothing on average over {STEPS} steps' draws, up to {worst:.1f} standard errors"


def draws(case: Case) -> str:
    """The same step draws the same, whatever else the process draws."""
    method, (sizes, label_sum) = case.ready(), SHAPES["eight bags"]
    batch, scores = case.batch(sizes, label_sum), scores_of(sum(sizes))["ordinary"]
    first = loss_and_gradient(method, scores, batch)
    torch.rand(1), np.random.rand(1)
    again = loss_and_gradient(method, scores, batch)
    if not all(map(torch.equal, first, again)):
        raise NotKeptError(
            f"the same step's loss is {float(first[0]):.6g}, then {float(again[0]):.6g}: draws come from "
            "self.generator(PURPOSE), and state changes in after_step"
        )
    return "the same step's loss and gradient are the same to the bit"


def weights(case: Case) -> str:
    """A training step moves every weight that a score depends on; a method has none beside its model's."""
    method, (sizes, label_sum) = case.ready(), SHAPES["eight bags"]
    if own := [name for name, _ in method.named_parameters() if not name.startswith("model.")]:
        raise NotKeptError(f"{own[0]} is a parameter of the method, which no step moves: only the model's are trained")
    loss = method.training_step(case.batch(sizes, label_sum), 0)
    assert loss is not None
    loss.backward()  # type: ignore[no-untyped-call]
    for name, parameter in method.model.named_parameters():
        moved = parameter.grad is not None and parameter.grad.to_dense().abs().sum()
        if not moved or not torch.isfinite(moved):
            raise NotKeptError(f"the gradient of {name} is {'none' if parameter.grad is None else float(moved):}")
    return "a step moves every weight"


CHECKS = (finite, gradient, permutation, padding, draws, weights)
