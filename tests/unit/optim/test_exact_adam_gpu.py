"""Exact Adam on a CUDA device: against dense Adam, and bit-equal reruns."""

import numpy as np
import pytest
import torch
from torch import nn

from llp.optim.exact_adam import ExactAdam
from llp.optim.row_gradient import RowParameter, sum_rows

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]

SETTINGS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
N, D, INSTANCES, COLUMNS = 5_000, 128, 400, 10


def start(dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(N, D, dtype=dtype, generator=torch.Generator().manual_seed(0))


def minibatches(steps: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    return [torch.from_numpy((N * rng.random((INSTANCES, COLUMNS)) ** 4).astype(np.int32)) for _ in range(steps)]


def loss_of(weight: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return (torch.tanh(sum_rows(weight, rows)).mean(1) - 1).square().mean()


def train(weight, optimizer, steps: int) -> torch.Tensor:
    for rows in minibatches(steps):
        optimizer.zero_grad()
        loss_of(weight, rows.to(weight.device)).backward()
        optimizer.step()
    if isinstance(weight, RowParameter):
        weight.catch_up()
    return weight.detach().cpu()


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_equals_dense_adam():
    exact = RowParameter(start(torch.float64).cuda())
    dense = nn.Parameter(start(torch.float64))
    ours = train(exact, ExactAdam([exact], **SETTINGS), 400)
    theirs = train(dense, torch.optim.Adam([dense], **SETTINGS), 400)
    moved = (theirs - start(torch.float64)).norm()
    assert (ours - theirs).norm() <= 1e-6 * moved


def test_float32_is_no_more_than_twice_as_far_from_the_truth_as_dense_float32():
    truth = nn.Parameter(start(torch.float32).double())
    moved = train(truth, torch.optim.Adam([truth], **SETTINGS), 300) - start(torch.float32).double()
    errors = []
    for kind, optimizer in ((nn.Parameter, torch.optim.Adam), (RowParameter, ExactAdam)):
        weight = kind(start(torch.float32).cuda())
        errors.append((train(weight, optimizer([weight], **SETTINGS), 300) - start(torch.float32) - moved).norm())
    assert errors[1] <= 2 * errors[0]


@pytest.mark.usefixtures("deterministic")
def test_reruns_are_equal_bit_by_bit():
    runs = []
    for _ in range(2):
        weight = RowParameter(start(torch.float32).cuda())
        runs.append(train(weight, ExactAdam([weight], **SETTINGS), 50))
    assert torch.equal(runs[0], runs[1])
