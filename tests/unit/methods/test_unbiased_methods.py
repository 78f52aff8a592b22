"""dsq, upm and debiased estimate the instances' loss: checked on bags drawn from a population that is known whole."""

import numpy as np
import pytest
import torch

from llp.methods.debiased import Debiased, class_losses, debiased
from llp.methods.dsq import DSQ, dsq, moving_mean
from llp.methods.upm import UPM, upm
from llp.ops.segment import mean_over_other_bags
from tests.helpers.minibatches import assert_mean, bags_of, make_batch, make_method, population, random_batch

SIZES = np.array([3, 5, 8, 5, 3, 8, 4, 4])
REPEATS = 1200


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(7)
    scores, label = population(rng)
    return scores, label, [bags_of(rng, scores, label, SIZES) for _ in range(REPEATS)]


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def cross_entropies(scores):
    return np.stack([np.log1p(np.exp(scores)), np.log1p(np.exp(-scores))], axis=1)


def of_labels(losses, label):
    return losses[np.arange(len(label)), label.astype(int)].mean()


def test_dsq_is_unbiased_for_the_squared_error_but_for_the_variance_of_the_batchs_mean(drawn):
    scores, label, bags = drawn
    h, p = sigmoid(scores), label.mean()
    means = torch.tensor(h.mean()), None
    for mean, bias in zip(means, (0.0, -np.mean(SIZES - 1) * h.var() / SIZES.sum()), strict=True):
        values = []
        for batch, z in bags:
            prediction = torch.sigmoid(z)
            of_batch = prediction.mean() if mean is None else mean
            values.append(dsq(prediction, batch, label_mean=p, mean_prediction=of_batch))
        assert_mean(values, np.mean((label - h) ** 2) + bias)


def test_upm_is_unbiased_for_the_squared_error_but_for_the_variance_of_the_other_bags_mean(drawn):
    scores, label, bags = drawn
    h, p = sigmoid(scores), label.mean()
    excesses = torch.tensor(h.mean() - p), None
    for excess, bias in zip(excesses, (0.0, np.mean((SIZES + 1) * h.var() / (SIZES.sum() - SIZES))), strict=True):
        values = []
        for batch, z in bags:
            prediction = torch.sigmoid(z)
            of_others = mean_over_other_bags(prediction, batch.segment, batch.size, alone=p) - p
            values.append(upm(prediction, batch, excess=of_others if excess is None else excess))
        assert_mean(values, np.mean((label - h) ** 2) + bias)


@pytest.mark.parametrize("centre", ["other bags", "population", "minibatch"])
def test_debiased_is_unbiased_for_the_cross_entropy_but_for_a_bags_share_of_its_own_centre(drawn, centre):
    scores, label, bags = drawn
    losses, values = cross_entropies(scores), []
    for batch, z in bags:
        own = class_losses(z)
        mean = torch.from_numpy(losses.mean(axis=0)) if centre == "population" else own.mean(dim=0)
        around = mean_over_other_bags(own, batch.segment, batch.size, alone=mean) if centre == "other bags" else mean
        values.append(debiased(own, batch, label_mean=label.mean(), centre=around, mean_loss=mean))
    covariance = np.mean((losses[:, 1] - losses[:, 0]) * (label - label.mean()))
    share = np.mean(SIZES) / SIZES.sum() if centre == "minibatch" else 0.0
    assert_mean(values, of_labels(losses, label) - share * covariance)


def test_dsqs_average_moves_after_the_step_and_is_saved():
    batch, scores = random_batch(np.random.default_rng(1))
    method = make_method(DSQ, decay=0.9)
    first = torch.sigmoid(scores).mean().item()
    assert float(method.bag_loss(scores, batch)) == float(method.bag_loss(scores, batch))
    method.on_train_batch_end(None, batch, 0)
    assert method.mean_prediction.item() == pytest.approx(first, rel=1e-6)
    method.bag_loss(scores + 1, batch)
    method.on_train_batch_end(None, batch, 1)
    second = 0.9 * first + 0.1 * torch.sigmoid(scores + 1).mean().item()
    assert method.state_dict()["mean_prediction"].item() == pytest.approx(second, rel=1e-6)


def test_only_the_newest_part_of_dsqs_average_carries_gradient():
    current = torch.tensor(0.4, requires_grad=True)
    moving_mean(torch.tensor(0.2), current, decay=0.99).backward()
    assert current.grad.item() == pytest.approx(0.01)
    for previous, decay in ((float("nan"), 0.99), (0.2, 0.0)):
        current.grad = None
        moving_mean(torch.tensor(previous), current, decay=decay).backward()
        assert current.grad.item() == 1.0


def test_what_a_lone_bag_costs():
    """In upm its squared error times its size; debiased draws it to the label mean."""
    batch, scores = make_batch([4], [1]), torch.tensor([0.0, 1.0, -1.0, 2.0], dtype=torch.float64)
    squared = 4 * (0.25 - torch.sigmoid(scores).mean().item()) ** 2
    assert float(make_method(UPM, detach=False).bag_loss(scores, batch)) == pytest.approx(squared)
    drawn_to = np.array([0.7, 0.3]) @ cross_entropies(scores.numpy()).mean(axis=0)
    for centre in ("other_bags", "minibatch"):
        loss = make_method(Debiased, centre=centre, absolute=False).bag_loss(scores, batch)
        assert float(loss) == pytest.approx(drawn_to, rel=1e-6)
