import numpy as np
import pytest
import torch
from scipy import optimize

from llp.methods.rot import ROT
from tests.helpers.minibatches import make_method, random_batch


def transport_plan_labels(z, alpha):
    """Labels of entropic transport with reg 1: the model's odds times the factor that makes their mean α."""
    if alpha in (0, 1):
        return np.full(len(z), alpha)
    shift = optimize.brentq(lambda s: np.mean(1 / (1 + np.exp(-z - s))) - alpha, -50, 50, xtol=1e-12)
    return 1 / (1 + np.exp(-z - shift))


@pytest.mark.parametrize("pseudo_labels", ["soft", "hard"])
def test_the_loss_is_its_formula_bag_by_bag(pseudo_labels):
    batch, scores = random_batch(np.random.default_rng(0))
    expected = []
    for b, z in enumerate(np.split(scores.numpy(), np.cumsum(batch.size)[:-1])):
        alpha = batch.label_sum[b].item() / len(z)
        label = transport_plan_labels(z, alpha)
        if pseudo_labels == "hard":
            label = (label > 0.5).astype(float)
        h = 1 / (1 + np.exp(-z))
        bag = -alpha * np.log(h.mean()) - (1 - alpha) * np.log(1 - h.mean())
        instances = np.mean(-label * np.log(h) - (1 - label) * np.log(1 - h))
        expected.append(0.6 * bag + 0.4 * instances)
    loss = make_method(ROT, weight=0.6, reg=1.0, pseudo_labels=pseudo_labels, solver="closed_form").bag_loss(
        scores, batch
    )
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-6)


def test_labels_carry_no_gradient():
    batch, scores = random_batch(np.random.default_rng(1))
    scores.requires_grad_()
    method = make_method(ROT, weight=0.0, reg=1.0, pseudo_labels="soft", solver="closed_form")
    (gradient,) = torch.autograd.grad(method.bag_loss(scores, batch), scores)
    bags = np.split(scores.detach().numpy(), np.cumsum(batch.size)[:-1])
    alpha = (batch.label_sum / batch.size).numpy()
    pairs = zip(bags, alpha.tolist(), strict=True)
    expected = [(1 / (1 + np.exp(-z)) - transport_plan_labels(z, a)) / len(z) / 8 for z, a in pairs]
    np.testing.assert_allclose(gradient, np.concatenate(expected), atol=1e-7)
