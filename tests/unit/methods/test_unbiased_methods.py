"""dsq, upm and debiased estimate the instances' loss: checked on bags drawn from a population that is known whole."""

import numpy as np
import pytest
import torch

from llp.methods.debiased import Debiased, class_losses, debiased
from llp.methods.dsq import DSQ, dsq, moving_mean
from llp.methods.upm import UPM, excess_elsewhere, upm
from llp.ops.segment import mean_over_other_bags
from tests.helpers.minibatches import bags_of, make_batch, make_method, population, random_batch

SIZES = np.array([3, 5, 8, 5, 3, 8, 4, 4])
REPEATS = 1200


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(7)
    scores, label = population(rng)
    return scores, label, [bags_of(rng, scores, label, SIZES) for _ in range(REPEATS)]


def assert_mean(values, expected):
    values = np.array([float(value) for value in values])
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - expected) < 3 * error
    assert error < 0.02 * expected  # so the estimate has something to say


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def test_dsq_with_the_populations_mean_is_unbiased_for_the_squared_error(drawn):
    scores, label, bags = drawn
    h, p = sigmoid(scores), label.mean()
    mean = torch.tensor(h.mean())
    values = [dsq(torch.sigmoid(z), batch, label_mean=p, mean_prediction=mean) for batch, z in bags]
    assert_mean(values, np.mean((label - h) ** 2))


def test_dsq_with_the_batchs_mean_is_too_low_by_k_minus_1_variances_of_the_mean(drawn):
    scores, label, bags = drawn
    h, p = sigmoid(scores), label.mean()
    values = []
    for batch, z in bags:
        prediction = torch.sigmoid(z)
        values.append(dsq(prediction, batch, label_mean=p, mean_prediction=prediction.mean()))
    assert_mean(values, np.mean((label - h) ** 2) - np.mean(SIZES - 1) * h.var() / SIZES.sum())


def test_upm_with_the_populations_excess_is_unbiased_for_the_squared_error(drawn):
    scores, label, bags = drawn
    h = sigmoid(scores)
    excess = torch.tensor(h.mean() - label.mean())
    assert_mean([upm(torch.sigmoid(z), batch, excess=excess) for batch, z in bags], np.mean((label - h) ** 2))


def test_upm_with_the_other_bags_mean_is_too_high_by_k_plus_1_variances_of_the_mean(drawn):
    scores, label, bags = drawn
    h, p = sigmoid(scores), label.mean()
    values = []
    for batch, z in bags:
        prediction = torch.sigmoid(z)
        values.append(upm(prediction, batch, excess=excess_elsewhere(prediction, batch, label_mean=p)))
    bias = np.mean((SIZES + 1) * h.var() / (SIZES.sum() - SIZES))
    assert_mean(values, np.mean((label - h) ** 2) + bias)


def cross_entropies(scores):
    return np.stack([np.log1p(np.exp(scores)), np.log1p(np.exp(-scores))], axis=1)


def debiased_by_others(scores, batch, label_mean):
    losses = class_losses(scores)
    mean = losses.mean(dim=0)
    centre = mean_over_other_bags(losses, batch.segment, batch.size, alone=mean)
    return debiased(losses, batch, label_mean=label_mean, centre=centre, mean_loss=mean)


def test_debiased_with_the_other_bags_mean_loss_is_unbiased_for_the_cross_entropy(drawn):
    scores, label, bags = drawn
    values = [debiased_by_others(z, batch, label.mean()) for batch, z in bags]
    assert_mean(values, cross_entropies(scores)[np.arange(len(label)), label.astype(int)].mean())


def test_debiased_with_the_populations_mean_loss_is_unbiased_for_the_cross_entropy(drawn):
    scores, label, bags = drawn
    losses = cross_entropies(scores)
    mean = torch.from_numpy(losses.mean(axis=0))
    values = [
        debiased(class_losses(z), batch, label_mean=label.mean(), centre=mean, mean_loss=mean) for batch, z in bags
    ]
    assert_mean(values, losses[np.arange(len(label)), label.astype(int)].mean())


def test_debiased_with_the_batchs_mean_loss_misses_each_bags_share_of_the_covariance(drawn):
    scores, label, bags = drawn
    losses = cross_entropies(scores)
    values = []
    for batch, z in bags:
        batch_losses = class_losses(z)
        mean = batch_losses.mean(dim=0)
        values.append(debiased(batch_losses, batch, label_mean=label.mean(), centre=mean, mean_loss=mean))
    covariance = np.mean((losses[:, 1] - losses[:, 0]) * (label - label.mean()))
    share = np.mean(SIZES) / SIZES.sum()
    target = losses[np.arange(len(label)), label.astype(int)].mean()
    assert_mean(values, target - share * covariance)


def test_dsq_is_its_formula_bag_by_bag():
    batch, scores = random_batch(np.random.default_rng(0))
    h = sigmoid(scores.numpy())
    bags = np.split(h, np.cumsum(batch.size)[:-1])
    k, y = batch.size.numpy(), batch.label_sum.numpy()
    expected = np.mean([k[b] * (y[b] / k[b] - bags[b].mean()) ** 2 for b in range(8)])
    expected -= np.mean(k - 1) * (h.mean() - 0.3) ** 2
    method = make_method(DSQ, decay=0.99)
    assert float(method.bag_loss(scores, batch)) == pytest.approx(expected, rel=1e-6)


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


def test_upm_is_its_formula_bag_by_bag():
    batch, scores = random_batch(np.random.default_rng(2))
    h = sigmoid(scores.numpy())
    bags = np.split(h, np.cumsum(batch.size)[:-1])
    expected = 0.0
    for b, own in enumerate(bags):
        excess = np.concatenate(bags[:b] + bags[b + 1 :]).mean() - 0.3
        alpha = batch.label_sum[b].item() / len(own)
        expected += len(own) * (alpha - own.mean() + excess) ** 2 + excess**2
    loss = make_method(UPM, detach=False).bag_loss(scores, batch)
    assert float(loss) == pytest.approx(expected / 8, rel=1e-6)


def test_upm_of_a_lone_bag_is_its_squared_error_times_its_size():
    batch = make_batch([4], [1])
    scores = torch.tensor([0.0, 1.0, -1.0, 2.0], dtype=torch.float64)
    expected = 4 * (0.25 - torch.sigmoid(scores).mean().item()) ** 2
    assert float(make_method(UPM, detach=False).bag_loss(scores, batch)) == pytest.approx(expected)


def test_upms_excess_carries_gradient_unless_it_is_detached():
    batch, scores = random_batch(np.random.default_rng(2))
    h = torch.sigmoid(scores)
    excess = excess_elsewhere(h, batch, label_mean=0.3)
    gradients = []
    for detach in (False, True):
        z = scores.clone().requires_grad_()
        make_method(UPM, detach=detach).bag_loss(z, batch).backward()
        gradients.append(z.grad)
    z = scores.clone().requires_grad_()
    upm(torch.sigmoid(z), batch, excess=excess).backward()
    torch.testing.assert_close(gradients[1], z.grad)
    assert (gradients[0] - gradients[1]).abs().max() > 1e-3


@pytest.mark.parametrize("centre", ["other_bags", "minibatch"])
def test_debiased_is_its_formula_bag_by_bag(centre):
    batch, scores = random_batch(np.random.default_rng(3))
    losses = cross_entropies(scores.numpy())
    mean = losses.mean(axis=0)
    prior = np.array([0.7, 0.3])
    bags = np.split(losses, np.cumsum(batch.size)[:-1])
    expected = 0.0
    for b, own in enumerate(bags):
        alpha = batch.label_sum[b].item() / len(own)
        around = mean if centre == "minibatch" else np.concatenate(bags[:b] + bags[b + 1 :]).mean(axis=0)
        expected += (np.array([1 - alpha, alpha]) - prior) @ (own - around).sum(axis=0) + prior @ mean
    loss = float(make_method(Debiased, centre=centre, absolute=False).bag_loss(scores, batch))
    assert loss == pytest.approx(expected / 8, rel=1e-5)
    absolute = float(make_method(Debiased, centre=centre, absolute=True).bag_loss(-3 * scores, batch))
    below = float(make_method(Debiased, centre=centre, absolute=False).bag_loss(-3 * scores, batch))
    assert absolute == pytest.approx(abs(below), rel=1e-6)


def test_debiased_of_a_lone_bag_draws_it_to_the_label_mean():
    batch = make_batch([4], [1])
    scores = torch.tensor([0.0, 1.0, -1.0, 2.0], dtype=torch.float64)
    expected = np.array([0.7, 0.3]) @ cross_entropies(scores.numpy()).mean(axis=0)
    for centre in ("other_bags", "minibatch"):
        loss = make_method(Debiased, centre=centre, absolute=False).bag_loss(scores, batch)
        assert float(loss) == pytest.approx(expected, rel=1e-6)
