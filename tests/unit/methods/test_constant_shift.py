"""A constant error of all predictions costs something: its gradient takes them back to p, the pooled label mean."""

import numpy as np
import pytest
import torch

from llp.conformance.case import TRAIN
from tests.helpers.every_method import batch_of, learning_from_bags, prepare

pytestmark = pytest.mark.run  # trains

N_STEPS = 20  # draws differ from step to step
SHIFT = {"binary": 1.5, "real": 5.0}  # in log-odds, and in labels

# (method, kind of labels) -> why a constant shift of all predictions costs it nothing
BLIND = {("genbags", "binary"): "the rows of the tetrahedron's covariance sum to zero, and the bags have one size"}


def pooled_mean(kind):
    sizes, label_sum = TRAIN[kind]
    return sum(label_sum) / sum(sizes)


def pull(name, kind, tables, shift, overrides=()):
    """Mean derivative of the loss with respect to a shift of all predictions from p, on bags whose pooled mean is p."""
    method = prepare(name, kind, tables, overrides=overrides)
    p, sizes = pooled_mean(kind), [50] * 8
    label_sum = 50 * p + np.array([-12, -8, -4, -1, 1, 4, 8, 12]) * (1 if kind == "binary" else 10)
    if kind == "binary":
        label_sum = np.array([6, 10, 14, 17, 20, 22, 26, 31])
        assert label_sum.sum() == 400 * p
    batch = batch_of(tables[kind], sizes, label_sum.tolist())
    centre = np.log(p / (1 - p)) if kind == "binary" else p
    total = 0.0
    for step in range(N_STEPS):
        method.steps_taken = step
        c = torch.tensor(float(shift), requires_grad=True)
        scores = centre + 0.01 * torch.linspace(-1, 1, 50).repeat(8) + c  # no ties, all bags alike
        method.bag_loss(scores, batch).backward()
        total += c.grad.item() / N_STEPS
    return total


@pytest.mark.parametrize(("name", "kind"), learning_from_bags())
def test_shift_of_all_predictions_away_from_p_is_brought_back(name, kind, tables):
    below, above = (pull(name, kind, tables, shift) for shift in (-SHIFT[kind], SHIFT[kind]))
    if (name, kind) in BLIND:
        assert (below, above) == pytest.approx((0, 0), abs=1e-2)
    else:
        assert below < 0 < above


@pytest.mark.parametrize("kind", ["binary", "real"])
def test_genbags_is_blind_to_the_shift_through_its_covariance_alone(kind, tables):
    for covariance, blind in (("tetrahedron", True), ("reference", False)):
        options = [f"method.covariance={covariance}", "method.residual=mean"]
        pulls = [pull("genbags", kind, tables, shift, options) for shift in (-SHIFT[kind], SHIFT[kind])]
        if blind:
            assert pulls == pytest.approx([0, 0], abs=1e-2)
        else:
            assert pulls[0] < 0 < pulls[1]
