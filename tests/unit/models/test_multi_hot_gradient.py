"""The first layer under exact Adam: its sums, its gradients, its weights when replaced or copied."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from llp.models.multi_hot import MultiHot
from llp.optim.exact_adam import ExactAdam
from llp.optim.row_gradient import RowParameter, sum_rows

pytestmark = pytest.mark.run  # trains

SETTINGS = {"lr": 1e-2, "betas": (0.9, 0.999), "eps": 1e-8}
VOCAB = (3, 40, 7)


def layer() -> MultiHot:
    torch.manual_seed(0)
    return MultiHot(vocab_sizes=VOCAB, n_numeric=2, width=6, bias=True).double()


def minibatch(seed: int, n: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    codes = [torch.randint(0, size, (n,), generator=generator, dtype=torch.int32) for size in VOCAB]
    return torch.stack(codes, 1), torch.randn(n, 2, generator=generator, dtype=torch.float64)


def train(first: MultiHot, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        optimizer.zero_grad()
        torch.tanh(first(*minibatch(step))).sum(1).sub(1).square().mean().backward()
        optimizer.step()


def test_weights_put_in_place_stay_as_they_are():
    # what the moments owe the rows was paid before, so that reading them moves none
    exact, best = layer(), layer()
    train(exact, ExactAdam(exact.parameters(), **SETTINGS), range(20))
    exact.weight.catch_up()
    exact.load_state_dict(best.state_dict())
    with torch.no_grad():
        exact(*minibatch(100, n=50))
    for name, value in best.state_dict().items():
        assert torch.equal(exact.state_dict()[name], value)


def test_a_copy_is_a_layer_of_its_own():
    exact = layer()
    optimizer = ExactAdam(exact.parameters(), **SETTINGS)
    train(exact, optimizer, range(20))
    exact.weight.catch_up()
    before = exact.state_dict()["weight"].clone()
    other = copy.deepcopy(exact)
    train(other, ExactAdam(other.parameters(), **SETTINGS), range(20))
    assert torch.equal(exact.state_dict()["weight"], before)
    assert not torch.equal(other.state_dict()["weight"], before)


@pytest.mark.parametrize("rows_lag", [False, True])
def test_sums_and_gradients_of_rows(rows_lag):
    table = torch.randn(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = torch.tensor([[0, 5, 5], [19, 5, 0]], dtype=torch.int32)
    dense = nn.Parameter(table.clone())
    total = F.embedding_bag(rows, dense, mode="sum")
    total.square().sum().backward()
    weight = RowParameter(table.clone())
    if not rows_lag:  # without an optimizer that follows the rows it is an ordinary parameter
        ours = sum_rows(weight, rows)
        ours.square().sum().backward()
        torch.testing.assert_close(weight.grad, dense.grad)
    else:  # one step's first moment is a tenth of the gradient
        optimizer = ExactAdam([weight], **SETTINGS)
        ours = sum_rows(weight, rows)
        ours.square().sum().backward()
        optimizer.step()
        assert weight.grad is None
        torch.testing.assert_close(optimizer.state[weight]["exp_avg"], 0.1 * dense.grad)
    torch.testing.assert_close(ours, total)
