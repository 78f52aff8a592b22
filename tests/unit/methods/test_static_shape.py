"""Methods with `static_shape`: instances that only fill a minibatch up change nothing, and a step can be recorded.

A method joins these tests by its class saying so.
"""

import numpy as np
import pytest
import torch
from hydra.utils import get_class
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from llp.config.grouping_keys import read_option
from tests.helpers.every_method import batch_of, learning_from_bags, prepare

pytestmark = pytest.mark.run  # steps every method many times

VARIANTS = [
    ("dllp_mse", "binary", "method.target=sum"),
    ("easy_llp", "binary", "method.estimator=single"),
    ("genbags", "binary", "method.covariance=reference"),
    ("sim_llp", "binary", "method.weighting=row_mean"),
    ("sim_llp", "real", "method.squash=sigmoid"),
]
SIZES, LABEL_SUM = [4, 1, 7, 5, 2, 12, 3], [1.0, 1.0, 3.0, 0.0, 2.0, 5.0, 1.0]  # odd: llpfc leaves out the last bag


def is_static(name):
    return get_class(read_option(f"method/{name}")._target_).static_shape


static = [(name, kind) for name, kind in learning_from_bags() if is_static(name)]
every_static_method = pytest.mark.parametrize(("name", "kind", "overrides"), [
    *(pytest.param(*point, (), id="-".join(point)) for point in static),
    *(pytest.param(name, kind, (option,), id=f"{name}-{kind}-{option}") for name, kind, option in VARIANTS),
])  # fmt: skip


def filled_up(batch, n_more, seed=0):
    """The minibatch with more instances, of features that it has, that belong to no bag."""
    rows = torch.from_numpy(np.random.default_rng(seed).integers(0, len(batch.segment), n_more))
    return batch._replace(
        categorical=torch.cat([batch.categorical, batch.categorical[rows]]),
        numeric=torch.cat([batch.numeric, batch.numeric[rows]]),
        segment=torch.cat([batch.segment, torch.full((n_more,), len(batch.size))]),
    )


def double_batch(table, sizes, label_sum):
    batch = batch_of(table, sizes, label_sum)
    return batch._replace(numeric=batch.numeric.double())


def assert_equal_up_to_rounding(found, expected):
    scale = float(expected.abs().max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * scale + 1e-12)


def test_all_methods_but_three_have_a_static_shape():
    others = {name for name, _ in learning_from_bags()} - {name for name, _ in static}
    assert others == {"llp_mm", "mean_map", "mixbag"}


@st.composite
def minibatches(draw):
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    counts = [float(draw(st.integers(0, size))) for size in sizes]
    values = st.one_of(st.floats(-1e4, 1e4, width=32), st.sampled_from([-1e4, 0.0, 1.0, 1e4]))
    n, n_more = sum(sizes), draw(st.integers(1, 30))
    return sizes, counts, draw(st.lists(values, min_size=n + n_more, max_size=n + n_more))


@every_static_method
def test_filling_up_changes_neither_loss_nor_gradient(name, kind, overrides, tables):
    method = prepare(name, kind, tables, torch.float64, overrides)

    def run(values, batch):
        scores = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        loss = method.bag_loss(scores, batch)
        loss.backward()
        return loss.detach(), scores.grad

    @settings(max_examples=15, deadline=None)
    @given(minibatches())
    def check(minibatch):
        sizes, counts, scores = minibatch
        n, batch = sum(sizes), double_batch(tables[kind], sizes, counts)
        loss, gradient = run(scores[:n], batch)
        filled_loss, filled_gradient = run(scores, filled_up(batch, len(scores) - n))
        assert_equal_up_to_rounding(filled_loss, loss)
        assert_equal_up_to_rounding(filled_gradient[:n], gradient)
        assert not filled_gradient[n:].any()

    check()


@every_static_method
def test_filling_up_changes_neither_the_models_gradient_nor_the_epochs_sums(name, kind, overrides, tables):
    results = []
    for n_more in (0, 29):
        method = prepare(name, kind, tables, torch.float64, overrides)
        method.on_train_epoch_start()
        batch = double_batch(tables[kind], SIZES, LABEL_SUM)
        method.training_step(filled_up(batch, n_more), 0).backward()
        sums = torch.tensor(list(method.epoch_means.values().values()), dtype=torch.float64)
        results.append([sums, *(weight.grad for weight in method.model.parameters())])
    for without, filled in zip(*results, strict=True):
        assert without.abs().sum() > 0
        assert_equal_up_to_rounding(filled, without)


def tensors_of(method):
    """Where the tensors lie that last from step to step."""
    held = {**vars(method), **dict(method.named_buffers())}
    return {name: value.data_ptr() for name, value in held.items() if isinstance(value, torch.Tensor)}


@every_static_method
def test_what_lasts_from_step_to_step_stays_in_its_memory(name, kind, overrides, tables):
    method = prepare(name, kind, tables, overrides=overrides)
    method.on_train_epoch_start()
    before = tensors_of(method)
    batch = batch_of(tables[kind], SIZES, LABEL_SUM)
    for step in range(2):
        loss = method.training_step(batch, step)
        method.on_train_batch_end(loss, batch, step)
    assert tensors_of(method) == before


@every_static_method
def test_the_loss_takes_the_time_from_nothing_but_its_draws(name, kind, overrides, tables, monkeypatch):
    method = prepare(name, kind, tables, overrides=overrides)
    method.on_train_epoch_start()
    method.generator = lambda purpose: torch.Generator().manual_seed(0)
    batch = batch_of(tables[kind], SIZES, LABEL_SUM)
    losses = []
    for epoch, method.steps_taken in ((0, 0), (7, 50)):
        monkeypatch.setattr(type(method), "current_epoch", epoch)
        losses.append(method.batch_loss(batch).item())
    assert losses[0] == losses[1]


# ---- recording a step, tried with tensors of the meta device, which have a shape and no numbers


class HostMemoryError(Exception):
    """An operation of the device reads the host's memory."""


class RefuseTwoDevices(TorchDispatchMode):
    """Raises where tensors of two devices meet."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        devices = {leaf.device for leaf in tree_leaves((args, kwargs, out)) if isinstance(leaf, torch.Tensor)}
        if len(devices) > 1:
            raise HostMemoryError(func)
        return out


class RefuseNumbers(TorchFunctionMode):
    """Raises where Python's numbers become a tensor: a device would copy them."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (torch.tensor, torch.as_tensor, torch.Tensor.new_tensor):
            raise HostMemoryError(func)
        return func(*args, **(kwargs or {}))


def leave_out_numbers(module):
    """Take every tensor of a module to the meta device."""
    module.to("meta")
    for holder in (vars(part) for part in module.modules()):
        holder.update({name: value.to("meta") for name, value in holder.items() if isinstance(value, torch.Tensor)})


def record(method, batch):
    """Run the loss and its backward pass as a recording sees it: nothing is known but shapes."""
    method.generator = lambda purpose: torch.Generator()
    for module in (method, *getattr(method, "_metric", ())):
        leave_out_numbers(module)
    batch = type(batch)(*(part.to("meta") for part in batch))
    with RefuseNumbers(), RefuseTwoDevices():
        loss = method.batch_loss(batch)
        loss.backward()
    return loss


@every_static_method
def test_a_step_can_be_recorded(name, kind, overrides, tables):
    options = (*overrides, "method.pair_instances=20") if name == "sim_llp" else overrides
    for sizes, label_sum in ((SIZES, LABEL_SUM), ([40], [3.0])):
        method = prepare(name, kind, tables, overrides=options)
        loss = record(method, filled_up(batch_of(tables[kind], sizes, label_sum), 9))
        assert loss.shape == ()
        assert all(weight.grad is not None for weight in method.model.parameters())


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        pytest.param("mixbag", NotImplementedError, "nonzero", id="a shape that follows from numbers"),
        pytest.param("llp_mm", RuntimeError, "item", id="a number that the host reads"),
    ],
)
def test_recording_finds_a_step_that_waits(name, error, message, tables):
    assert not is_static(name)
    with pytest.raises(error, match=message):
        record(prepare(name, "binary", tables), batch_of(tables["binary"], SIZES, LABEL_SUM))


@pytest.mark.parametrize(
    "factor", [lambda s: s.new_tensor(0.5), lambda s: torch.tensor([0.5]), lambda s: torch.ones(1)]
)
def test_recording_finds_a_read_of_the_hosts_memory(factor, tables):
    method = prepare("dllp_bce", "binary", tables)
    own_loss = method.bag_loss
    method.bag_loss = lambda scores, batch: own_loss(scores, batch) * factor(scores).sum()
    with pytest.raises(HostMemoryError):
        record(method, batch_of(tables["binary"], SIZES, LABEL_SUM))
