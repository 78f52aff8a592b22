"""What holds for every method: a method joins these tests by having a YAML file.

Losses are taken of scores that are a leaf, so that any value can be tried; the model and the features are small.
"""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.config.grouping_keys import read_option
from tests.helpers.every_method import batch_of, learning_from_bags, prepare

LARGE_BAG = 2500

# name of a method -> why its loss is not smooth in the scores, though its gradient is meant to be what it is
NOT_SMOOTH = {
    "soft_erot_llp": "its pseudo-labels move with the scores, but carry no gradient",
}
# name of a method -> where draws for single instances (which a permutation has to take along) are tested instead
DRAWS_PER_INSTANCE = {
    "mixbag": "its draws choose single instances: test_mixbag.py permutes them along",
}

every_method = pytest.mark.parametrize(("name", "kind"), learning_from_bags())


def loss_and_gradient(method, scores, batch):
    scores = scores.clone().requires_grad_()
    loss = method.bag_loss(scores, batch)
    loss.backward()
    return loss.detach(), scores.grad


def assert_finite(method, scores, batch):
    loss, gradient = loss_and_gradient(method, scores, batch)
    assert loss.ndim == 0
    assert torch.isfinite(loss), loss
    assert torch.isfinite(gradient).all(), gradient


def scores_like(how, n):
    generator = torch.Generator().manual_seed(n)
    normal = torch.randn(n, generator=generator)
    return {
        "ordinary": normal,
        "equal": torch.full((n,), 0.7),
        "zero": torch.zeros(n),
        "all 1e4": torch.full((n,), 1e4),
        "all -1e4": torch.full((n,), -1e4),
        "mixed 1e4": torch.sign(normal) * 1e4,
        "spread over 1e4": (normal * 4e3).clamp(-1e4, 1e4),
    }[how]


HOW = ["ordinary", "equal", "zero", "all 1e4", "all -1e4", "mixed 1e4", "spread over 1e4"]
SHAPES = {
    "pure bags": ([5, 3, 4, 6, 2, 7, 1, 3], [5.0, 0.0, 4.0, 0.0, 0.0, 7.0, 1.0, 0.0]),
    "all negative": ([5, 3, 4], [0.0, 0.0, 0.0]),
    "all positive": ([5, 3, 4], [5.0, 3.0, 4.0]),
    "bags of one": ([1] * 8, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
    "one bag of one": ([1], [1.0]),
    "a bag of 2,500": ([LARGE_BAG, 2], [611.0, 1.0]),
    "fewer than 8 bags": ([4, 9, 1, 30, 6], [1.0, 4.0, 0.0, 29.0, 3.0]),
    "eight bags": ([40, 60, 20, 10, 5, 50, 33, 70], [4.0, 30.0, 19.0, 1.0, 1.0, 49.0, 11.0, 36.0]),
}


@every_method
def test_loss_and_gradient_are_finite(name, kind, tables):
    method = prepare(name, kind, tables)
    for sizes, label_sum in SHAPES.values():
        batch = batch_of(tables[kind], sizes, label_sum)
        for how in HOW:
            assert_finite(method, scores_like(how, sum(sizes)), batch)


@st.composite
def minibatches(draw):
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    counts = [float(draw(st.integers(0, size))) for size in sizes]
    values = st.one_of(st.floats(-1e4, 1e4, width=32), st.sampled_from([-1e4, 0.0, 1e-30, 1.0, 1e4]))
    return sizes, counts, draw(st.lists(values, min_size=sum(sizes), max_size=sum(sizes)))


@every_method
def test_any_minibatch_has_a_finite_loss_and_gradient(name, kind, tables):
    method = prepare(name, kind, tables)

    @settings(max_examples=15, deadline=None)
    @given(minibatches())
    def check(minibatch):
        sizes, counts, scores = minibatch
        assert_finite(method, torch.tensor(scores, dtype=torch.float32), batch_of(tables[kind], sizes, counts))

    check()


@every_method
def test_gradient_is_the_derivative_of_the_loss(name, kind, tables):
    if name in NOT_SMOOTH:
        pytest.skip(NOT_SMOOTH[name])
    method = prepare(name, kind, tables, torch.float64)
    sizes, label_sum = [4, 1, 7, 5, 2], [1.0, 1.0, 3.0, 0.0, 1.0]
    batch = batch_of(tables[kind], sizes, label_sum)
    batch = batch._replace(numeric=batch.numeric.double(), label_sum=batch.label_sum.double())
    # distinct scores: labels that rank them stay as they are under small steps
    scores = (torch.arange(19, dtype=torch.float64) * 7 % 19 / 5 - 1.7).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: method.bag_loss(z, batch), (scores,), eps=1e-6, rtol=1e-4, atol=1e-6)


@every_method
def test_permuting_instances_inside_bags_permutes_the_gradient(name, kind, tables):
    if name in DRAWS_PER_INSTANCE:
        pytest.skip(DRAWS_PER_INSTANCE[name])
    method = prepare(name, kind, tables, torch.float64)
    sizes, label_sum = [30, 1, 12, 50, 9], [11.0, 1.0, 0.0, 20.0, 5.0]
    rng = np.random.default_rng(3)
    ends = np.cumsum([0, *sizes])
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in itertools.pairwise(ends)])
    scores = torch.from_numpy(rng.normal(size=ends[-1]))  # no ties

    def run(z, batch):
        return loss_and_gradient(method, z, batch._replace(numeric=batch.numeric.double()))

    loss, gradient = run(scores, batch_of(tables[kind], sizes, label_sum))
    permuted_loss, permuted = run(scores[order], batch_of(tables[kind], sizes, label_sum, order))
    assert permuted_loss.item() == pytest.approx(loss.item(), rel=1e-5, abs=1e-9)
    scale = float(gradient.abs().max())
    np.testing.assert_allclose(permuted, gradient[order], atol=1e-5 * scale + 1e-12)


NEAREST = [(name, ()) for name, kind in learning_from_bags() if kind == "binary" and name != "dllp_mae"]
NEAREST += [(name, ("method.solver=pot",)) for name, _ in NEAREST if "solver" in read_option(f"method/{name}")]


@pytest.mark.parametrize(("name", "overrides"), NEAREST)
def test_a_sum_that_cannot_be_is_taken_as_the_nearest_one_that_can(name, overrides, tables):
    """Where a loss needs a count or a proportion that can be: below 0 or above the size it has no least value.

    Of what is linear in the sums a noisy one is used as it is, so that the gradient stays unbiased: test_noise.py.
    """
    method = prepare(name, "binary", tables, overrides=overrides)
    scores = scores_like("ordinary", 18)
    noisy, possible, between = (
        loss_and_gradient(method, scores, batch_of(tables["binary"], [4, 5, 6, 3], sums))
        for sums in ([-3.2, 9.0, 3.0, -0.2], [0.0, 5.0, 3.0, 0.0], [-1.6, 7.0, 3.0, -0.1])
    )
    if not torch.allclose(2 * between[1], noisy[1] + possible[1], rtol=1e-5, atol=1e-6):
        torch.testing.assert_close(noisy, possible, rtol=1e-6, atol=1e-7)


@every_method
def test_the_same_step_draws_the_same_and_another_step_may_not(name, kind, tables):
    method = prepare(name, kind, tables)
    sizes, label_sum = SHAPES["eight bags"]
    batch, scores = batch_of(tables[kind], sizes, label_sum), scores_like("ordinary", sum(sizes))
    first = loss_and_gradient(method, scores, batch)
    torch.rand(1)  # draws elsewhere do not matter
    again = loss_and_gradient(method, scores, batch)
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])


@every_method
def test_a_training_step_moves_every_weight_that_a_score_depends_on(name, kind, tables):
    method = prepare(name, kind, tables)
    sizes, label_sum = SHAPES["eight bags"]
    batch = batch_of(tables[kind], sizes, label_sum)
    method.training_step(batch, 0).backward()
    for parameter in method.model.parameters():
        assert parameter.grad is not None
        gradient = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
        assert torch.isfinite(gradient).all()
        assert gradient.abs().sum() > 0
