"""Exact Adam's rows in torch's operations, as any device but a CPU trains them: the compiled ones of the CPU."""

from functools import partial

import pytest
import torch

from llp.optim import exact_adam
from llp.optim.exact_adam import ExactAdam
from llp.optim.row_gradient import RowParameter, sum_rows
from llp.optim.rows_in_torch import RowsInTorch
from tests.helpers.every_method import batch_of, learning_from_bags, prepare

STEPS = 200
SETTINGS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
SIZES = [3, 1, 4, 2]
QUICK = [
    ("dllp_bce", "binary"),
    ("llp_vat", "binary"),
    ("genbags", "real"),
    ("mean_map", "binary"),
]  # the others are slow


@pytest.fixture
def in_torch(monkeypatch):
    """Train rows in torch's operations wherever they lie."""
    exact_adam._steps_as_dense.cache_clear()
    monkeypatch.setattr(exact_adam, "_rows_on", lambda device: RowsInTorch)
    monkeypatch.setattr(exact_adam, "FIRST_CAPACITY", 10)  # of the sums, which a long training outgrows
    yield
    exact_adam._steps_as_dense.cache_clear()


def minibatches(table):
    """Some of the table's rows at each step: most are touched now and then, so their rows lag behind."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(STEPS):
        label_sum = [float(torch.randint(size + 1, (), generator=generator)) for size in SIZES]
        batch = batch_of(table, SIZES, label_sum)
        rows = torch.randint(table.n_rows, (len(batch.segment),), generator=generator).numpy()
        yield batch._replace(
            categorical=torch.from_numpy(table.categorical[rows]), numeric=torch.from_numpy(table.numeric[rows])
        )


def trained(name, kind, tables, device="cpu"):
    method = prepare(name, kind, tables, torch.float64)
    method.make_optimizer = partial(ExactAdam, **SETTINGS)
    method.to(device)
    optimizer = method.configure_optimizers()
    rows = {type(weight.touched_rows) for weight in method.parameters() if isinstance(weight, RowParameter)}
    method.on_train_epoch_start()
    for batch in minibatches(tables[kind]):
        optimizer.zero_grad()
        batch = batch._replace(numeric=batch.numeric.double())
        method.minibatch_loss(type(batch)(*(part.to(device) for part in batch))).backward()
        optimizer.step()
        method.after_step()
        method.steps_taken += 1
    return rows, {key: value.cpu() for key, value in method.model.state_dict().items()}


def assert_close(weights, expected):
    for key, weight in weights.items():
        torch.testing.assert_close(weight, expected[key], rtol=1e-6, atol=1e-6)


@pytest.mark.run
@pytest.mark.parametrize(
    ("name", "kind"),
    [one if one in QUICK else pytest.param(*one, marks=pytest.mark.slow) for one in learning_from_bags()],
)
def test_200_steps_of_every_method_are_the_compiled_ones(name, kind, tables, request):
    rows, expected = trained(name, kind, tables)
    assert RowsInTorch not in rows
    request.getfixturevalue("in_torch")
    rows, weights = trained(name, kind, tables)
    assert rows == {RowsInTorch}
    assert_close(weights, expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("name", "kind"), [("dllp_bce", "binary"), ("genbags", "real"), ("mean_map", "binary")])
def test_200_steps_on_a_gpu_are_the_compiled_ones(name, kind, tables):
    expected = trained(name, kind, tables)[1]
    rows, weights = trained(name, kind, tables, "cuda")
    assert rows == {RowsInTorch}
    assert_close(weights, expected)


def touch_now_and_then(weight, optimizer, steps):
    """Train rows that come 1, 2, 4, 8, ... steps apart, so that gaps reach from none to beyond the window."""
    for step in steps:
        rows = [row for row in range(len(weight)) if step % 2**row == 0]
        gradient = torch.randn(len(rows), weight.shape[1], generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        (sum_rows(weight, torch.tensor(rows, dtype=torch.int32)[:, None]) * gradient.to(weight)).sum().backward()
        optimizer.step()


@pytest.mark.usefixtures("in_torch")
@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-6), (torch.float32, 1e-3)])
def test_rows_that_lag_far_behind_move_as_by_dense_adam_also_from_a_saved_state(dtype, most):
    start = torch.randn(10, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) / 100
    dense = torch.nn.Parameter(start.clone())
    touch_now_and_then(dense, torch.optim.Adam([dense], **SETTINGS), range(600))
    exact = RowParameter(start.to(dtype, copy=True))
    first = ExactAdam([exact], **SETTINGS)
    touch_now_and_then(exact, first, range(350))
    then = ExactAdam([exact], **SETTINGS)
    then.load_state_dict(first.state_dict())
    assert isinstance(exact.touched_rows, RowsInTorch)
    touch_now_and_then(exact, then, range(350, 600))
    then.catch_up_all()
    error = (exact.detach().double() - dense.detach()).norm(dim=1) / (dense.detach() - start).norm(dim=1)
    assert error.max() <= most


@pytest.mark.usefixtures("in_torch")
@pytest.mark.parametrize("fault", ["differs", "lacks an operation"])
def test_device_whose_steps_differ_from_dense_adam_trains_by_that_with_one_warning(monkeypatch, caplog, fault):
    def broken(self, root, t0):
        if fault == "differs":
            return torch.zeros_like(root)
        raise NotImplementedError("The operator 'aten::unique' is not implemented on this device\nmore")

    monkeypatch.setattr(RowsInTorch, "_pushes", broken)
    start = torch.randn(10, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    dense = torch.nn.Parameter(start.clone())
    touch_now_and_then(dense, torch.optim.Adam([dense], **SETTINGS), range(20))
    for _ in range(2):
        exact = RowParameter(start.clone())
        optimizer = ExactAdam([exact], **SETTINGS)
        touch_now_and_then(exact, optimizer, range(10))
        then = ExactAdam([exact], **SETTINGS)
        then.load_state_dict(optimizer.state_dict())
        touch_now_and_then(exact, then, range(10, 20))
        torch.testing.assert_close(exact.detach(), dense.detach(), rtol=1e-12, atol=1e-12)
    [record] = [one for one in caplog.records if one.name == "llp.optim.exact_adam"]
    why = {"differs": "they differ by", "lacks an operation": "The operator 'aten::unique' is not implemented on this"}
    assert why[fault] in record.message
    assert "\n" not in record.message
