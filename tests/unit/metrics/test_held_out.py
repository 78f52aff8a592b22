"""Estimates of the instances' loss from held-out bags: unbiased by simulation, and each its formula."""

import numpy as np
import pytest
import torch

from llp.metrics.held_out import LEAST_BAGS, HeldOutBags, criteria, debiased, easy_llp, upm
from tests.helpers.minibatches import assert_mean, bags_of, make_batch, population

SIZES = np.array([3, 5, 8, 5, 3, 8, 4, 4, 12, 1])


@pytest.mark.parametrize("shift", [0, 2])  # of all scores: predictions are right on average, or far off
def test_estimates_are_unbiased_with_a_label_mean_of_other_bags(shift):
    rng = np.random.default_rng(11)
    scores, label = population(rng)
    scores = scores + shift
    found = {"upm": [], "debiased": [], "easy_llp": []}
    for _ in range(3000):
        batch, z = bags_of(rng, scores, label, SIZES)
        bags, p = HeldOutBags.of(z, batch, "binary"), rng.choice(label, 400).mean()
        for name, value in criteria(bags, label_mean=p, label_kind="binary").items():
            found[name].append(value)
    cross_entropy = np.mean(np.log1p(np.exp(np.where(label == 1, -scores, scores))))
    assert_mean(found["upm"], np.mean((label - 1 / (1 + np.exp(-scores))) ** 2))
    assert_mean(found["debiased"], cross_entropy)
    assert_mean(found["easy_llp"], cross_entropy)


def random_bags():
    rng = np.random.default_rng(1)
    sizes = np.array([4, 1, 7, 3])
    batch = make_batch(sizes, rng.integers(0, sizes + 1))
    z = torch.from_numpy(rng.normal(size=15))
    return HeldOutBags.of(z, batch, "binary"), z.numpy(), sizes, batch.label_sum.numpy()


def test_upm_is_its_formula_bag_by_bag_and_pair_by_pair():
    bags, z, k, y = random_bags()
    h = np.split(1 / (1 + np.exp(-z)), np.cumsum(k)[:-1])
    d = y / k - np.array([own.mean() for own in h])
    expected = []
    for b in range(4):
        others = [j for j in range(4) if j != b]
        delta = -np.average(d[others], weights=k[others])
        products = [(k[i] * k[j], d[i] * d[j]) for i in others for j in others if i != j]
        squared = sum(w * x for w, x in products) / sum(w for w, _ in products)
        expected.append(k[b] * (d[b] ** 2 + 2 * d[b] * delta + squared) + squared)
    assert float(upm(bags)) == pytest.approx(np.mean(expected), rel=1e-12)


def test_the_cross_entropies_are_their_formulas():
    bags, z, k, y = random_bags()
    losses = np.stack([np.log1p(np.exp(z)), np.log1p(np.exp(-z))], axis=1)
    of_bag, p = np.split(losses, np.cumsum(k)[:-1]), np.array([0.7, 0.3])
    expected, easy = [], []
    for b in range(4):
        alpha = y[b] / k[b]
        around = np.concatenate([of_bag[j] for j in range(4) if j != b]).mean(axis=0)
        expected.append((np.array([1 - alpha, alpha]) - p) @ (of_bag[b] - around).sum(axis=0) + p @ losses.mean(axis=0))
        label = k[b] * (alpha - 0.3) + 0.3
        easy.append(np.mean(label * of_bag[b][:, 1] + (1 - label) * of_bag[b][:, 0]))
    assert float(debiased(bags, label_mean=0.3)) == pytest.approx(np.mean(expected), rel=1e-12)
    assert float(easy_llp(bags, label_mean=0.3)) == pytest.approx(np.mean(easy), rel=1e-12)


def test_minibatches_join_and_real_labels_have_the_squared_error_alone():
    batch, z = make_batch([4, 1, 7, 3], [1.5, -2.0, 9.0, 0.5]), torch.linspace(-1, 3, 15, dtype=torch.float64)
    whole = HeldOutBags.of(z, batch, "real")
    halves = [
        HeldOutBags.of(z[:5], make_batch([4, 1], [1.5, -2.0]), "real"),
        HeldOutBags.of(z[5:], make_batch([7, 3], [9.0, 0.5]), "real"),
    ]
    torch.testing.assert_close(HeldOutBags.joined(halves), whole)
    assert list(criteria(whole, label_mean=1.0, label_kind="real")) == ["upm"]


def test_too_few_bags_have_no_estimate_and_all_others_finite_ones():
    for n_bags in range(1, 6):
        bags = HeldOutBags.of(torch.zeros(3 * n_bags), make_batch([3] * n_bags, [1] * n_bags), "binary")
        found = criteria(bags, label_mean=0.3, label_kind="binary")
        assert list(found) == ([] if n_bags < LEAST_BAGS else ["upm", "debiased", "easy_llp"])
        assert np.isfinite(list(found.values())).all()
