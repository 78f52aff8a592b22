import numpy as np
import pytest
import torch

from llp.methods.llpfc import LLPFC, noisy_priors, transition_matrices
from tests.helpers.minibatches import make_batch, make_method, random_batch

PROPORTION = torch.tensor([[0.1, 0.6], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.4, 0.4], [0.02, 0.05]]).double()


@pytest.mark.parametrize("choice", ["uniform", "approx"])
def test_rows_of_the_matrices_sum_to_one(choice):
    prior = noisy_priors(PROPORTION, label_mean=0.3, choice=choice)
    matrices = transition_matrices(PROPORTION, prior)
    torch.testing.assert_close(matrices.sum(dim=2), torch.ones(6, 2, dtype=torch.float64))
    assert (matrices >= 0).all()


def test_the_matrix_is_the_frequency_of_the_bags_given_the_label():
    labels = [np.repeat([1, 0], [2, 8]), np.repeat([1, 0], [15, 15])]  # λ = the bags' shares of 40 instances
    prior = torch.tensor([[0.25, 0.75]]).double()
    matrix = transition_matrices(torch.tensor([[0.2, 0.5]]).double(), prior)[0]
    for label in (0, 1):
        counts = np.array([(bag == label).sum() for bag in labels])
        np.testing.assert_allclose(matrix[label], counts / counts.sum())


def test_approx_mixes_the_bags_to_the_label_mean_where_it_lies_between_them():
    prior = noisy_priors(PROPORTION, label_mean=0.3, choice="approx")
    mixed = (prior * PROPORTION).sum(dim=1)
    np.testing.assert_allclose(mixed[:2], 0.3, atol=1e-12)
    assert prior[4].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(mixed[5], 0.05, atol=1e-6)  # the nearest that bags of 0.02 and 0.05 can reach


@pytest.mark.parametrize("choice", ["uniform", "approx"])
def test_the_loss_is_its_formula_instance_by_instance(choice):
    batch, scores = random_batch(np.random.default_rng(0), n_bags=7)
    alpha = (batch.label_sum / batch.size).double()
    h = torch.sigmoid(scores).numpy()
    bags = np.split(h, np.cumsum(batch.size)[:-1])
    expected, weight = 0.0, 0.0
    for g in range(3):  # the seventh bag has no partner
        pair = alpha[2 * g : 2 * g + 2][None]
        prior = noisy_priors(pair, label_mean=0.3, choice=choice)
        matrix = transition_matrices(pair, prior)[0].numpy()
        for m in (0, 1):
            own = bags[2 * g + m]
            noisy = np.stack([1 - own, own], axis=1) @ matrix[:, m]
            expected += prior[0, m].item() * -np.log(noisy).mean()
            weight += prior[0, m].item()
    loss = make_method(LLPFC, noisy_prior=choice).bag_loss(scores, batch)
    assert loss.item() == pytest.approx(expected / weight, rel=1e-5)


def test_pure_bags_are_ordinary_labels():
    batch = make_batch([3, 2], [0, 2])
    scores = torch.randn(5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    loss = make_method(LLPFC, noisy_prior="uniform").bag_loss(scores, batch)
    ce = torch.nn.functional.binary_cross_entropy_with_logits
    expected = 0.5 * ce(scores[:3], torch.zeros(3).double()) + 0.5 * ce(scores[3:], torch.ones(2).double())
    assert loss.item() == pytest.approx(expected.item())


def test_a_lone_bag_teaches_nothing():
    scores = torch.zeros(4, requires_grad=True)
    loss = make_method(LLPFC, noisy_prior="uniform").bag_loss(scores, make_batch([4], [1]))
    loss.backward()
    assert loss.item() == 0.0
    assert not scores.grad.any()
