"""GenBags' weights and loss against the moments that they are defined by."""

import numpy as np
import pytest
import torch

from llp.methods.genbags import bag_weights, blocks_of

CPU = torch.device("cpu")
DRAWS = 200_000


def sigma(m, covariance):
    """The m × m covariance matrix by its entries."""
    diagonal, off = {"tetrahedron": (1.0, -1.0), "reference": (1.001, -0.99)}[covariance]
    matrix = np.full((m, m), off / (m - 1))
    np.fill_diagonal(matrix, diagonal)
    return matrix


@pytest.mark.parametrize("covariance", ["tetrahedron", "reference"])
@pytest.mark.parametrize("m", [2, 3, 4, 6])
def test_weights_have_the_covariance(covariance, m):
    block, sizes = blocks_of(m, m, CPU)
    normal = torch.randn(m, DRAWS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = bag_weights(normal, block, sizes, covariance=covariance)
    np.testing.assert_allclose(weights @ weights.T / DRAWS, sigma(m, covariance), atol=0.02)
    np.testing.assert_allclose(weights.mean(1), 0, atol=0.02)
    np.testing.assert_allclose(sigma(4, "reference"), 1.331 * np.eye(4) - 0.33, atol=1e-12)  # as published
