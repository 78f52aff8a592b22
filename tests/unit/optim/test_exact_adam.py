"""Exact Adam against dense torch Adam: same weights, whatever the gaps between the touches of a row."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from llp.errors import InputError
from llp.optim.exact_adam import ExactAdam
from llp.optim.row_gradient import RowParameter, sum_rows

SETTINGS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
NEVER = 10**9


def touches(first: int, gap: int, steps: int) -> set[int]:
    return set(range(first, steps + 1, gap))


def run_fixed_gradients(optimizer, weight, schedule, steps):
    """Train on gradients that do not depend on the weights: what differs is the optimizer alone."""
    for step in range(1, steps + 1):
        touched = [row for row, when in enumerate(schedule) if step in when]
        optimizer.zero_grad()
        if touched:
            rng = np.random.default_rng(step)
            scale = 10.0 ** rng.uniform(-6, -1, (len(touched), 1))
            gradient = torch.from_numpy(scale * rng.standard_normal((len(touched), weight.shape[1])))
            total = sum_rows(weight, torch.tensor(touched, dtype=torch.int32)[:, None])
            (total * gradient.to(weight.dtype)).sum().backward()
        else:  # dense Adam would skip a parameter without a gradient; a minibatch never is empty
            (sum_rows(weight, torch.zeros(1, 1, dtype=torch.int32)) * 0).sum().backward()
        optimizer.step()


STEPS = 1000  # the window is 263
EARLY = [touches(first, gap, STEPS) for first in (1, 2, 3, 7, 20, 50) for gap in (1, 250, 500, 900, NEVER)]
MIDDLE = [touches(first, gap, STEPS) for first in (100, 200, 262, 263, 264) for gap in (1, 250, 500, NEVER)]
LATE = [touches(first, gap, STEPS) for first in (501, 600, 744) for gap in (1, 250, NEVER)]


@pytest.fixture(scope="module")
def trained() -> dict[str, torch.Tensor]:
    schedule = EARLY + MIDDLE + LATE + [set()]
    start = torch.randn(len(schedule), 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = {"start": start}
    for dtype in (torch.float64, torch.float32):
        dense = nn.Parameter(start.to(dtype, copy=True))
        run_fixed_gradients(torch.optim.Adam([dense], **SETTINGS), dense, schedule, STEPS)
        exact = RowParameter(start.to(dtype, copy=True))
        optimizer = ExactAdam([exact], **SETTINGS)
        run_fixed_gradients(optimizer, exact, schedule, STEPS)
        optimizer.catch_up_all()
        weights[f"dense {dtype}"], weights[f"exact {dtype}"] = dense.detach().double(), exact.detach().double()
    return weights


def relative_error(weights, truth, start):
    return ((weights - truth).norm(dim=1) / (truth - start).norm(dim=1)).numpy()


@pytest.mark.run
def test_total_movement_equals_dense_adam_in_float64(trained):
    assert torch.equal(trained["exact torch.float64"][-1], trained["start"][-1])  # it is never touched
    error = relative_error(trained["exact torch.float64"], trained["dense torch.float64"], trained["start"])[:-1]
    assert error.max() <= 1e-6
    assert error[len(EARLY) + len(MIDDLE) :].max() <= 1e-9


@pytest.mark.run
def test_float32_is_no_more_than_twice_as_far_from_the_truth_as_dense_float32(trained):
    truth, start = trained["dense torch.float64"], trained["start"].float().double()
    exact, dense = trained["exact torch.float32"] - start, trained["dense torch.float32"] - start
    moved = truth - trained["start"]
    assert (exact - moved).norm() <= 2 * (dense - moved).norm()


class Net(nn.Module):
    """A first layer of rows and a head, so that gradients depend on every weight."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight
        generator = torch.Generator().manual_seed(1)
        self.head = nn.Parameter(torch.randn(weight.shape[1], generator=generator).to(weight.dtype))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.tanh(sum_rows(self.weight, rows)) @ self.head


def train(net, optimizer, batches):
    for rows in batches:

        def closure(rows=rows):
            optimizer.zero_grad()
            loss = (net(rows) - 1).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)


def table(n_rows: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(n_rows, 5, dtype=dtype, generator=torch.Generator().manual_seed(0))


def dense_and_exact(n_rows, work, **changed):
    """Two networks after the same work, by dense Adam and by the exact one, with all rows brought up to date."""
    dense, exact = Net(nn.Parameter(table(n_rows))), Net(RowParameter(table(n_rows)))
    work(dense, torch.optim.Adam(dense.parameters(), **SETTINGS | changed))
    work(exact, ExactAdam(exact.parameters(), **SETTINGS | changed))
    exact.weight.catch_up()
    return dense, exact


def assert_close(networks, rtol, atol):
    dense, exact = networks
    for ours, theirs in zip(exact.parameters(), dense.parameters(), strict=True):
        torch.testing.assert_close(ours.detach(), theirs.detach(), rtol=rtol, atol=atol)


def on(batches):
    return lambda net, optimizer: train(net, optimizer, batches)


@pytest.mark.parametrize("changed", [{"betas": (0.8, 0.99)}, {"eps": 1e-4}, {"lr": 1e-2}])
def test_every_setting_counts_as_in_dense_adam(changed):
    """For rows and for the weights of other layers."""
    assert_close(dense_and_exact(12, on(random_batches(12, 60)), **changed), 0, 1e-9)


def random_batches(n_rows: int, steps: int, seed: int = 0) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [torch.from_numpy((n_rows * rng.random((4, 3)) ** 2).astype(np.int32)) for _ in range(steps)]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.lists(st.integers(0, 11), min_size=2, max_size=2), min_size=1, max_size=4), max_size=40))
def test_equals_dense_adam_on_any_pattern_of_touches(pattern):
    assert_close(dense_and_exact(12, on([torch.tensor(rows, dtype=torch.int32) for rows in pattern])), 1e-9, 1e-9)


def test_a_changing_learning_rate_is_followed():
    def work(net, optimizer):
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
        for rows in random_batches(40, 100):
            train(net, optimizer, [rows])
            schedule.step()

    assert_close(dense_and_exact(40, work), 1e-8, 1e-10)


def test_gradients_of_several_passes_add_up_until_zero_grad():
    def work(net, optimizer):
        for first, second, dropped in zip(*(random_batches(20, 12, seed) for seed in (1, 2, 3)), strict=True):
            net(dropped).sum().backward()
            optimizer.zero_grad()
            net(first).square().mean().backward()
            net(second[:, :1]).square().mean().backward()  # another number of columns
            optimizer.step()

    assert_close(dense_and_exact(20, work), 1e-7, 1e-9)


def test_a_forward_pass_sees_rows_up_to_date():
    dense, exact = Net(nn.Parameter(table(30))), Net(RowParameter(table(30)))
    batches = random_batches(30, 50)
    train(dense, torch.optim.Adam(dense.parameters(), **SETTINGS), batches)
    train(exact, ExactAdam(exact.parameters(), **SETTINGS), batches)
    every_row = torch.arange(30, dtype=torch.int32)[:, None]
    with torch.no_grad():
        torch.testing.assert_close(exact(every_row), dense(every_row), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_restored_run_goes_on_bit_by_bit(dtype):
    batches = random_batches(30, 400)
    net = Net(RowParameter(table(30, dtype)))
    optimizer = ExactAdam(net.parameters(), **SETTINGS)
    train(net, optimizer, batches[:300])
    saved = copy.deepcopy((optimizer.state_dict(), net.state_dict()))
    train(net, optimizer, batches[300:])

    restored = Net(RowParameter(torch.zeros_like(table(30, dtype))))
    again = ExactAdam(restored.parameters(), **SETTINGS)
    restored.load_state_dict(saved[1])
    again.load_state_dict(saved[0])
    train(restored, again, batches[300:])
    for name, value in net.state_dict().items():
        assert torch.equal(value, restored.state_dict()[name])
    resumed = again.state_dict()["state"][0]
    for name, value in optimizer.state_dict()["state"][0].items():
        assert value.dtype == resumed[name].dtype
        assert torch.equal(value, resumed[name])


def test_catching_up_twice_changes_nothing():
    net = Net(RowParameter(table(30)))
    optimizer = ExactAdam(net.parameters(), **SETTINGS)
    train(net, optimizer, random_batches(30, 50))
    before = net.weight.detach().clone()
    optimizer.catch_up_all()
    once = copy.deepcopy(optimizer.state[net.weight])
    current = net.weight.detach().clone()
    assert not torch.equal(before, current)
    optimizer.catch_up_all()
    assert torch.equal(net.weight, current)
    assert all(torch.equal(value, once[name]) for name, value in optimizer.state[net.weight].items())
    touched = once["last"] > 0
    assert touched.any()
    assert (once["last"][touched] == 50).all()


def test_a_long_run_outgrows_the_first_table_of_sums(monkeypatch):
    monkeypatch.setattr("llp.optim.exact_adam.FIRST_CAPACITY", 10)
    assert_close(dense_and_exact(40, on(random_batches(40, 400))), 1e-6, 1e-9)


def test_a_row_number_outside_the_table_is_refused():
    net = Net(RowParameter(table(30)))
    optimizer = ExactAdam(net.parameters(), **SETTINGS)
    for rows in ([[30]], [[-1]]):
        with pytest.raises(IndexError, match="0 … 29"):
            net(torch.tensor(rows, dtype=torch.int32))
    train(net, optimizer, random_batches(30, 3))  # the refusal left nothing behind
    with torch.no_grad(), pytest.raises(IndexError, match="0 … 29"):
        net(torch.tensor([[0], [30]], dtype=torch.int32))
    optimizer.catch_up_all()
    for rows in ([[30]], [[-1]], [[0], [30]], [[-1], [0]]):
        with pytest.raises(IndexError, match="0 … 29"):
            net(torch.tensor(rows, dtype=torch.int32))


@pytest.mark.parametrize("bad", [{"betas": (0.9, 0.9)}, {"betas": (0.0, 0.999)}, {"lr": -1.0}, {"eps": 0.0}])
def test_values_that_do_not_fit_are_refused(bad):
    with pytest.raises(InputError):
        ExactAdam([RowParameter(table(3))], **{**SETTINGS, **bad})


def test_a_table_or_state_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="float16"):
        ExactAdam([RowParameter(torch.zeros(3, 2, dtype=torch.float16))], **SETTINGS)
    weight = RowParameter(table(3))
    dense = torch.optim.Adam([nn.Parameter(table(3))], **SETTINGS)
    with pytest.raises(InputError, match="exact Adam"):
        ExactAdam([weight], **SETTINGS).load_state_dict(dense.state_dict())


def test_weights_read_directly_at_every_step_are_followed():
    """A penalty on all weights beside the sums of a few rows."""

    def work(net, optimizer):
        for rows in random_batches(20, 30):
            optimizer.zero_grad()
            (net(rows).square().mean() + 0.1 * net.weight.square().sum()).backward()
            optimizer.step()

    assert_close(dense_and_exact(20, work), 1e-9, 1e-12)


def test_reading_rows_that_lag_behind_directly_is_refused():
    net = Net(RowParameter(table(20)))
    optimizer = ExactAdam(net.parameters(), **SETTINGS)
    train(net, optimizer, random_batches(20, 3))
    optimizer.zero_grad()
    net.weight.sum().backward()
    with pytest.raises(RuntimeError, match="catch_up"):
        optimizer.step()


def test_a_second_step_takes_the_same_gradient_again():
    """As torch's optimizers do until zero_grad."""

    def work(net, optimizer):
        net(random_batches(20, 1)[0]).sum().backward()
        optimizer.step()
        optimizer.step()

    assert_close(dense_and_exact(20, work), 1e-10, 1e-13)
