import itertools
import math

import numpy as np
import pytest
import torch
from scipy import stats

from llp.methods.dllp import dllp_bce
from llp.methods.llp_mm import SubsetMatching, hypergeometric, subset_cross_entropy, subset_laws
from llp.ops.padding import pad_bags
from tests.helpers.minibatches import make_batch, make_method, random_batch


def enumerated_law(h, order):
    """Law of the positives by listing the subsets and the labels of their members."""
    law = np.zeros(order + 1)
    subsets = list(itertools.combinations(h, order))
    for subset in subsets:
        for labels in itertools.product([0, 1], repeat=order):
            law[sum(labels)] += math.prod(p if y else 1 - p for p, y in zip(subset, labels, strict=True))
    return law / len(subsets)


def test_padding_puts_each_bag_in_a_row():
    batch = make_batch([2, 1, 3], [0, 0, 0])
    padded = pad_bags(torch.arange(1.0, 7.0), batch.segment, batch.size)
    assert padded.tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]


def test_the_models_laws_are_those_of_all_subsets_and_labels():
    batch, scores = random_batch(np.random.default_rng(0), n_bags=5, low=4, high=9)
    laws = subset_laws(scores, batch, max_order=4)
    for b, own in enumerate(np.split(torch.sigmoid(scores).numpy(), np.cumsum(batch.size)[:-1])):
        for order in range(1, 5):
            np.testing.assert_allclose(laws[order - 1][b], enumerated_law(own, order), rtol=1e-12)


def test_small_probabilities_do_not_cancel():
    scores = torch.tensor([0.0, -60.0, -60.0], dtype=torch.float64)
    law = subset_laws(scores, make_batch([3], [2]), max_order=2)[1][0]
    tiny = math.exp(-60)
    assert law[2].item() == pytest.approx((0.5 * 2 * tiny + tiny**2) / 3, rel=1e-12)


def test_the_labels_law_is_scipys_hypergeometric():
    size, count = torch.tensor([2500.0, 5.0, 3.0]).double(), torch.tensor([70.0, 0.0, 3.0]).double()
    law = hypergeometric(size, count, 3)
    for b in range(3):
        expected = stats.hypergeom(int(size[b]), int(count[b]), 3).pmf(np.arange(4))
        np.testing.assert_allclose(law[b], expected, rtol=1e-10, atol=1e-15)


def test_order_one_without_smoothing_is_dllp_bce():
    batch, scores = random_batch(np.random.default_rng(1))
    scores.requires_grad_()
    ours = subset_cross_entropy(scores, batch, max_order=1, smoothing=0.0)
    dllp = dllp_bce(scores, batch, reduction="mean")
    assert ours.item() == pytest.approx(dllp.item(), rel=1e-6)
    gradients = [torch.autograd.grad(loss, scores)[0] for loss in (ours, dllp)]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-9)


def test_the_loss_is_its_formula_with_smoothing_and_bags_smaller_than_the_order():
    batch = make_batch([1, 2, 6], [1, 1, 2])
    scores = torch.from_numpy(np.random.default_rng(2).normal(0, 1, 9))
    expected = []
    for b, own in enumerate(np.split(torch.sigmoid(scores).numpy(), [1, 3])):
        labels = np.arange(len(own)) < batch.label_sum[b].item()
        terms = []
        for order in range(1, min(3, len(own)) + 1):
            coin = enumerated_law(np.full(order, 0.5), order)
            model = 0.9 * enumerated_law(own, order) + 0.1 * coin
            terms.append(-enumerated_law(labels.astype(float), order) @ np.log(model))
        expected.append(np.mean(terms))
    loss = make_method(SubsetMatching, max_order=3, smoothing=0.1).bag_loss(scores, batch)
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-12)


def test_saturated_scores_without_smoothing_stay_finite():
    scores = torch.full((6,), -1e4, requires_grad=True)
    loss = subset_cross_entropy(scores, make_batch([6], [6]), max_order=3, smoothing=0.0)
    loss.backward()
    assert loss.isfinite()
    assert scores.grad.isfinite().all()
