"""Mean-Map's operator and loss against dense numpy."""

from functools import partial

import numpy as np
import pytest
import torch

from llp.data.bags import Bags, GroupingKey
from llp.data.batch import BagBatch
from llp.data.table import Column, InstanceTable
from llp.data.table_writer import TableWriter
from llp.data.train_split import Features, TrainSplit
from llp.errors import InputError
from llp.methods.mean_map import MeanMap, bag_coefficients, mean_operator
from llp.models.linear import Linear
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


@pytest.fixture
def bags(table):
    rows = np.random.default_rng(1).permutation(N)[:50]  # ten rows belong to no bag
    offsets = np.array([0, 20, 21, 35, 50])
    return Bags(rows, offsets, np.add.reduceat(table.label[rows].astype(float), offsets[:-1]))


def dense(table):
    """The multi-hot and numeric matrix (N, sum of VOCAB + N_NUMERIC)."""
    return np.hstack([*(np.eye(size)[table.categorical[:, j]] for j, size in enumerate(VOCAB)), table.numeric])


def expected_operator(table, bags):
    x = dense(table)
    alpha = bags.label_sum / bags.sizes
    mean_set = np.stack([x[bags.rows[a:b]].mean(0) for a, b in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)])
    negative, positive = np.linalg.pinv(np.stack([1 - alpha, alpha], 1)) @ mean_set
    p = bags.label_sum.sum() / len(bags.rows)
    return p * positive - (1 - p) * negative


def test_operator_is_the_least_squares_solution(table, bags):
    operator = mean_operator(table, bags, bag_coefficients(bags.label_sum / bags.sizes, bags.label_mean))
    np.testing.assert_allclose(np.concatenate(operator), expected_operator(table, bags), atol=1e-12)


def test_operator_of_single_instances_is_the_mean_of_x_times_y(table):
    bags = Bags(np.arange(N), np.arange(N + 1), table.label.astype(float))
    operator = mean_operator(table, bags, bag_coefficients(bags.label_sum, bags.label_mean))
    np.testing.assert_allclose(np.concatenate(operator), dense(table).T @ (2 * table.label - 1) / N, atol=1e-12)


@pytest.mark.parametrize("proportion", [0.0, 0.25, 1.0])
def test_bags_of_one_proportion_are_refused(proportion):
    with pytest.raises(InputError, match=f"all 6 bags have about {proportion:g}"):
        bag_coefficients(np.full(6, proportion), proportion)


def make(table, bags, *, bias, l2):
    torch.manual_seed(0)
    model = Linear(vocab_sizes=VOCAB, n_numeric=N_NUMERIC, bias=bias).double()
    optimizer = partial(torch.optim.SGD, lr=1.0)
    method = MeanMap(l2=l2, model=model, optimizer=optimizer, label_kind="binary", seed=0).double()
    method.take_train_split(TrainSplit(Features.of(table), bags, GroupingKey("random", bag_size=20), minibatches=1))
    return method


@pytest.mark.parametrize("bias", [False, True])
def test_loss_and_gradient_are_those_of_the_exponential_family(table, bags, bias):
    method = make(table, bags, bias=bias, l2=0.3)
    rows = bags.rows[:21]
    batch = BagBatch(
        torch.from_numpy(table.categorical[rows]), torch.from_numpy(table.numeric[rows]).double(),
        torch.tensor([0] * 20 + [1]), torch.tensor([20, 1]), torch.from_numpy(bags.label_sum[:2]).float(),
    )  # fmt: skip
    loss = method.batch_loss(batch)
    loss.backward()

    first = method.model.first
    theta = torch.cat([first.weight[:, 0], first.numeric.weight[0]]).detach().numpy()
    x, operator = dense(table)[rows], expected_operator(table, bags)
    f = x @ theta
    expected = np.log(2 * np.cosh(f)).sum() - 21 * operator @ theta + 0.3 * theta @ theta
    assert loss.item() == pytest.approx(expected, rel=1e-9)  # the bias is 0 here
    gradient = torch.cat([first.weight.grad[:, 0], first.numeric.weight.grad[0]]).numpy()
    np.testing.assert_allclose(gradient, x.T @ np.tanh(f) - 21 * operator + 0.6 * theta, atol=1e-9)
    if bias:
        assert float(first.bias.grad) == pytest.approx(np.tanh(f).sum() - 21)


def test_prediction_is_the_probability_of_the_exponential_family(table, bags):
    method = make(table, bags, bias=False, l2=0.0)
    f = torch.tensor([-2.0, 0.0, 0.7])
    np.testing.assert_allclose(method.predict(f), np.exp(f) / (np.exp(f) + np.exp(-f)), rtol=1e-6)


def test_another_model_is_refused():
    model = MLP(vocab_sizes=VOCAB, n_numeric=0, hidden=[4, 2])
    with pytest.raises(InputError, match="model=linear"):
        MeanMap(l2=0.0, model=model, optimizer=partial(torch.optim.SGD, lr=1.0), label_kind="binary", seed=0)
