"""Exact Adam against dense torch Adam: same weights, whatever the gaps between the touches of a row."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from llp.errors import InputError
from llp.models.multi_hot import MultiHot
from llp.optim.exact_adam import ExactAdam
from llp.optim.row_gradient import RowParameter, sum_rows
from llp.optim.rows_in_torch import RowsInTorch
from llp.optim.rows_on_cpu import RowsOnCpu

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
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("llp.optim.exact_adam.FIRST_CAPACITY", 10)  # the table of sums grows
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


def random_batches(n_rows: int, steps: int, seed: int = 0) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [torch.from_numpy((n_rows * rng.random((4, 3)) ** 2).astype(np.int32)) for _ in range(steps)]


def any_training(steps: int) -> Iterator[dict[str, Any]]:
    """What each step of a training does, drawn: its passes, its rate, what comes before and after."""
    rng = np.random.default_rng(0)

    def rows(width: int) -> torch.Tensor:  # the later ones lag behind for long
        return torch.from_numpy((12 * rng.random((rng.integers(1, 4), width)) ** 3).astype(np.int32))

    for _ in range(steps):
        more, dropped, again, caught_up = rng.random(4) < (0.3, 0.3, 0.1, 0.1)
        yield {
            "rows": rows(2), "more": rows(1) if more else None, "dropped": rows(3) if dropped else None,
            "rate": rng.choice([1, 10, 0.1]), "times": 1 + again, "caught_up": caught_up,
        }  # fmt: skip


@pytest.mark.parametrize("kind", [RowsOnCpu, RowsInTorch])
@pytest.mark.parametrize("changed", [{}, {"betas": (0.8, 0.99)}, {"eps": 1e-4}, {"lr": 1e-2}, {"read_directly": True}])
def test_any_training_is_that_of_dense_adam(monkeypatch, kind, changed):
    """Passes add up until zero_grad; a step may be taken twice, the rate change, the loss read all weights directly."""
    monkeypatch.setattr("llp.optim.exact_adam._rows_on", lambda device: kind)
    chosen = SETTINGS | changed
    read_directly = chosen.pop("read_directly", False)
    dense, exact = Net(nn.Parameter(table(12))), Net(RowParameter(table(12)))
    optimizers = torch.optim.Adam(dense.parameters(), **chosen), ExactAdam(exact.parameters(), **chosen)
    for net, optimizer in zip((dense, exact), optimizers, strict=True):
        for step in any_training(100):
            if step["dropped"] is not None:
                net(step["dropped"]).sum().backward()
            optimizer.zero_grad()
            (net(step["rows"]).square().mean() + (net.weight.square().sum() if read_directly else 0)).backward()
            if step["more"] is not None:
                net(step["more"]).sum().backward()
            optimizer.param_groups[0]["lr"] = chosen["lr"] * step["rate"]
            for _ in range(step["times"]):
                optimizer.step()
            if net is exact and step["caught_up"]:
                net.weight.catch_up()
    every_row = torch.arange(12, dtype=torch.int32)[:, None]
    with torch.no_grad():
        torch.testing.assert_close(exact(every_row), dense(every_row), rtol=1e-8, atol=1e-9)
    optimizers[1].catch_up_all()
    for ours, theirs in zip(exact.parameters(), dense.parameters(), strict=True):
        torch.testing.assert_close(ours.detach(), theirs.detach(), rtol=1e-8, atol=1e-9)


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
    dense = torch.optim.Adam([nn.Parameter(table(3))], **SETTINGS)
    with pytest.raises(InputError, match="exact Adam"):
        ExactAdam([RowParameter(table(3))], **SETTINGS).load_state_dict(dense.state_dict())


def test_reading_rows_that_lag_behind_directly_is_refused():
    net = Net(RowParameter(table(20)))
    optimizer = ExactAdam(net.parameters(), **SETTINGS)
    train(net, optimizer, random_batches(20, 3))
    optimizer.zero_grad()
    net.weight.sum().backward()
    with pytest.raises(RuntimeError, match="catch_up"):
        optimizer.step()


VOCAB = (3, 40, 7)


def layer() -> MultiHot:
    torch.manual_seed(0)
    return MultiHot(vocab_sizes=VOCAB, n_numeric=2, width=6, bias=True).double()


def instances(seed: int, n: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    codes = [torch.randint(0, size, (n,), generator=generator, dtype=torch.int32) for size in VOCAB]
    return torch.stack(codes, 1), torch.randn(n, 2, generator=generator, dtype=torch.float64)


def train_layer(first: MultiHot, optimizer: torch.optim.Optimizer) -> None:
    for step in range(20):
        optimizer.zero_grad()
        torch.tanh(first(*instances(step))).sum(1).sub(1).square().mean().backward()
        optimizer.step()


@pytest.mark.run
def test_weights_put_in_place_stay_as_they_are():
    # what the moments owe the rows was paid before, so that reading them moves none
    exact, best = layer(), layer()
    train_layer(exact, ExactAdam(exact.parameters(), **SETTINGS))
    exact.weight.catch_up()
    exact.load_state_dict(best.state_dict())
    with torch.no_grad():
        exact(*instances(100, n=50))
    for name, value in best.state_dict().items():
        assert torch.equal(exact.state_dict()[name], value)


@pytest.mark.run
def test_a_copy_is_a_layer_of_its_own():
    exact = layer()
    optimizer = ExactAdam(exact.parameters(), **SETTINGS)
    train_layer(exact, optimizer)
    exact.weight.catch_up()
    before = exact.state_dict()["weight"].clone()
    other = copy.deepcopy(exact)
    train_layer(other, ExactAdam(other.parameters(), **SETTINGS))
    assert torch.equal(exact.state_dict()["weight"], before)
    assert not torch.equal(other.state_dict()["weight"], before)
