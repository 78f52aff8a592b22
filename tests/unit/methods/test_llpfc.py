import numpy as np
import torch

from llp.methods.llpfc import LLPFC, noisy_priors, transition_matrices
from tests.helpers.minibatches import make_batch, make_method

PROPORTION = torch.tensor([[0.1, 0.6], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.4, 0.4], [0.02, 0.05]]).double()


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


def test_a_lone_bag_teaches_nothing():
    scores = torch.zeros(4, requires_grad=True)
    loss = make_method(LLPFC, noisy_prior="uniform").bag_loss(scores, make_batch([4], [1]))
    loss.backward()
    assert loss.item() == 0.0
    assert not scores.grad.any()
