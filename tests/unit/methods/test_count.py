import itertools

import numpy as np
import pytest
import torch
from scipy.special import log_expit, logit, logsumexp
from scipy.stats import binom

from llp.ops.poisson_binomial import log_count_probability
from tests.helpers.minibatches import make_batch


def enumerated(z, count):
    """Log-probability and its gradient by listing the label vectors."""
    vectors = np.array([v for v in itertools.product([0, 1], repeat=len(z)) if sum(v) == count])
    log_weights = vectors @ log_expit(z) + (1 - vectors) @ log_expit(-z)
    total = logsumexp(log_weights)
    return total, np.exp(log_weights - total) @ vectors - 1 / (1 + np.exp(-z))


def recursion(z):
    """Log-probabilities of the counts 0..k, one instance after another in log space."""
    law = np.full(len(z) + 1, -np.inf)
    law[0] = 0.0
    for positive, negative in zip(log_expit(z), log_expit(-z), strict=True):
        law[1:] = np.logaddexp(law[1:] + negative, law[:-1] + positive)
        law[0] += negative
    return law


def evaluate(z, sizes, counts):
    """Log-probabilities and the gradient of their sum."""
    batch = make_batch(sizes, counts)
    scores = torch.from_numpy(np.asarray(z, float)).requires_grad_()
    value = log_count_probability(scores, batch.segment, batch.size, batch.label_sum)
    value.sum().backward()
    return value.detach().numpy(), scores.grad.numpy()


@pytest.mark.parametrize("spread", [0.1, 2.0, 30.0])
@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_value_and_gradient_are_those_of_the_enumeration(size, spread):
    z = np.random.default_rng(size).normal(-1, spread, size)
    counts = range(size + 1)
    value, gradient = evaluate(np.tile(z, size + 1), [size] * (size + 1), counts)
    expected = [enumerated(z, count) for count in counts]
    np.testing.assert_allclose(value, [e[0] for e in expected], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradient, np.concatenate([e[1] for e in expected]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [500, 2500])
@pytest.mark.parametrize(("mean", "spread"), [(-3, 1), (0, 0.0), (0, 4), (-1, 40)])
def test_large_bags_are_right_to_1e_11_at_every_count(size, mean, spread):
    z = np.random.default_rng(0).normal(mean, spread, size)
    counts = np.unique(np.linspace(0, size, 12).astype(int))
    value, _ = evaluate(np.tile(z, len(counts)), [size] * len(counts), counts)
    np.testing.assert_allclose(value, recursion(z)[counts], rtol=1e-11, atol=1e-11)


def test_rare_positives_in_a_large_bag_need_every_node():
    """Small probabilities make the characteristic function fall slowest: 23 nodes err by 2e-10, at 10 positives."""
    size, counts = 4000, np.arange(5, 40)
    z = np.concatenate([np.full(size, logit(count / size)) for count in counts])
    value, _ = evaluate(z, [size] * len(counts), counts)
    np.testing.assert_allclose(value, binom.logpmf(counts, size, counts / size), rtol=0, atol=5e-11)


def test_the_gradient_of_a_large_bag_is_that_of_leaving_one_out():
    z = np.random.default_rng(1).normal(-2, 1.5, 500)
    count = 40
    _, gradient = evaluate(z, [500], [count])
    total = recursion(z)[count]
    for i in (0, 7, 499):
        conditional = np.exp(log_expit(z[i]) + recursion(np.delete(z, i))[count - 1] - total)
        assert gradient[i] == pytest.approx(conditional - 1 / (1 + np.exp(-z[i])), abs=1e-10)


def test_saturated_scores_give_the_cheapest_flips():
    z = np.concatenate([np.full(10, 1e4), np.full(30, -1e4)])
    value, gradient = evaluate(np.tile(z, 4), [40] * 4, [10, 12, 0, 40])
    choices = np.log(30 * 29 / 2)  # two of the thirty negatives are flipped
    np.testing.assert_allclose(value, [0.0, choices - 2e4, -1e5, -3e5], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradient[40:80], np.r_[np.zeros(10), np.full(30, 2 / 30)], atol=1e-9)
