"""GenBags' weights and loss against the moments that they are defined by."""

import numpy as np
import pytest
import torch

from llp.methods.genbags import bag_weights, blocks_of, genbags_loss
from tests.helpers.every_method import composed

CPU = torch.device("cpu")
DRAWS = 200_000


def sigma(m, covariance):
    """The m × m covariance matrix by its entries."""
    diagonal, off = {"tetrahedron": (1.0, -1.0), "reference": (1.001, -0.99)}[covariance]
    matrix = np.full((m, m), off / (m - 1))
    np.fill_diagonal(matrix, diagonal)
    return matrix


def weights_of(n_bags, covariance, draws=DRAWS, block_size=4):
    block, sizes = blocks_of(n_bags, block_size, CPU)
    normal = torch.randn(n_bags, draws, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return bag_weights(normal, block, sizes, covariance=covariance), block, len(sizes)


def test_covariance_of_the_reference_is_the_published_one():
    np.testing.assert_allclose(sigma(4, "reference"), 1.331 * np.eye(4) - 0.33, atol=1e-12)


@pytest.mark.parametrize("covariance", ["tetrahedron", "reference"])
@pytest.mark.parametrize("m", [2, 3, 4, 6])
def test_weights_have_the_covariance(covariance, m):
    weights, _, _ = weights_of(m, covariance, block_size=m)
    np.testing.assert_allclose(weights @ weights.T / DRAWS, sigma(m, covariance), atol=0.02)
    np.testing.assert_allclose(weights.mean(1), 0, atol=0.02)


@pytest.mark.parametrize("n_bags", [8, 7, 6, 5, 3, 1])
def test_mean_loss_over_many_draws_is_the_quadratic_form(n_bags):
    weights, block, n_blocks = weights_of(n_bags, "tetrahedron")
    d = torch.linspace(-2, 3, n_bags, dtype=torch.float64) ** 3 + 1
    expected = 0.0
    for start in range(0, n_bags, 4):  # the last block may be smaller; one bag is itself
        part = d[start : start + 4].numpy()
        expected += part @ (sigma(len(part), "tetrahedron") if len(part) > 1 else np.eye(1)) @ part
    loss = genbags_loss(d, weights, block, n_blocks) * 60 / DRAWS
    assert float(loss) == pytest.approx(60 * expected, rel=0.02)


def test_equal_residuals_within_a_block_cost_nothing():
    weights, block, n_blocks = weights_of(8, "tetrahedron", draws=60)
    d = torch.tensor([3.0] * 4 + [-7.0] * 4, dtype=torch.float64)
    assert float(genbags_loss(d, weights, block, n_blocks)) == pytest.approx(0, abs=1e-20)


def test_bags_permuted_inside_a_block_with_their_draws_permute_the_gradient():
    block, sizes = blocks_of(7, 4, CPU)
    normal = torch.randn(7, 60, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    d = torch.linspace(-1, 2, 7, dtype=torch.float64)
    order = torch.tensor([2, 0, 3, 1, 6, 4, 5])

    def gradient(residual, draws):
        residual = residual.clone().requires_grad_()
        weights = bag_weights(draws, block, sizes, covariance="tetrahedron")
        genbags_loss(residual, weights, block, len(sizes)).backward()
        return residual.grad

    np.testing.assert_allclose(gradient(d[order], normal[order]), gradient(d, normal)[order], rtol=1e-12)


@pytest.mark.parametrize(
    ("dataset", "residual", "covariance"),
    [
        (["dataset=flights", "dataset.label=late"], "sum", "tetrahedron"),
        (["dataset=flights", "dataset.label=delay"], "mean", "reference"),
        (["dataset=synthetic_sscl", "method.covariance=tetrahedron"], "mean", "tetrahedron"),
    ],
)
def test_the_kind_of_label_chooses_what_is_not_given(dataset, residual, covariance):
    method = composed("genbags", *dataset).method
    assert (method.residual, method.covariance) == (residual, covariance)
