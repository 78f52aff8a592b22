"""Mean-Map's operator and loss against dense numpy."""

from functools import partial

import numpy as np
import pytest
import torch

from llp.data.bags import Bags
from llp.errors import InputError
from llp.methods.mean_map import MeanMap, bag_coefficients, mean_operator
from llp.models.mlp import MLP
from tests.helpers.tables import write_table

N, VOCAB, N_NUMERIC = 60, [5, 3], 2


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    codes, numeric = np.stack([rng.integers(0, size, N) for size in VOCAB], 1), rng.normal(size=(N, N_NUMERIC))
    sizes = {f"C{j}": size for j, size in enumerate(VOCAB)}
    return write_table(tmp_path / "table", sizes, codes, rng.integers(0, 2, N), numeric)


def dense(table):
    """The multi-hot and numeric matrix (N, sum of VOCAB + N_NUMERIC)."""
    return np.hstack([*(np.eye(size)[table.categorical[:, j]] for j, size in enumerate(VOCAB)), table.numeric])


def test_operator_of_single_instances_is_the_mean_of_x_times_y(table):
    bags = Bags(np.arange(N), np.arange(N + 1), table.label.astype(float))
    operator = mean_operator(table, bags, bag_coefficients(bags.label_sum, bags.label_mean))
    np.testing.assert_allclose(np.concatenate(operator), dense(table).T @ (2 * table.label - 1) / N, atol=1e-12)


@pytest.mark.parametrize("proportion", [0.0, 0.25, 1.0])
def test_bags_of_one_proportion_are_refused(proportion):
    with pytest.raises(InputError, match=f"all 6 bags have about {proportion:g}"):
        bag_coefficients(np.full(6, proportion), proportion)


def test_another_model_is_refused():
    model = MLP(vocab_sizes=VOCAB, n_numeric=0, hidden=[4, 2])
    with pytest.raises(InputError, match="model=linear"):
        MeanMap(l2=0.0, model=model, optimizer=partial(torch.optim.SGD, lr=1.0), label_kind="binary", seed=0)
