"""Mean-Map's operator and loss against dense numpy."""

from functools import partial

import numpy as np
import pytest
import torch

from llp.data.bags import Bags
from llp.data.table import Column, InstanceTable
from llp.data.table_writer import TableWriter
from llp.errors import InputError
from llp.methods.mean_map import MeanMap, bag_coefficients, mean_operator
from llp.models.mlp import MLP

N, VOCAB, N_NUMERIC = 60, [5, 3], 2


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    columns = [Column(f"C{j}", "categorical", size) for j, size in enumerate(VOCAB)]
    columns += [Column(f"N{j}", "numeric", None) for j in range(N_NUMERIC)]
    with TableWriter(tmp_path / "table", columns, label_kind="binary", rows=N) as writer:
        codes = np.stack([rng.integers(0, size, N) for size in VOCAB], 1)
        writer.write(0, codes, rng.normal(size=(N, N_NUMERIC)), rng.integers(0, 2, N))
        writer.finish(made_by={}, source={}, facts={})
    return InstanceTable.open(tmp_path / "table")


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
