"""What holds for every method: a method joins these tests by having a YAML file, a plug-in's by `llp check`."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.config.grouping_keys import read_option
from llp.conformance.of_minibatches import CHECKS, check_finite, loss_and_gradient, scores_of
from tests.helpers.every_method import batch_of, case_of, learning_from_bags, prepare

every_method = pytest.mark.parametrize(("name", "kind"), learning_from_bags())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@every_method
def test_it_keeps_what_every_method_keeps(name, kind, tables, check):
    check(case_of(name, kind, tables))


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
        check_finite(method, torch.tensor(scores), batch_of(tables[kind], sizes, counts), "drawn")

    check()


NEAREST = [(name, ()) for name, kind in learning_from_bags() if kind == "binary" and name != "dllp_mae"]
NEAREST += [(name, ("method.solver=pot",)) for name, _ in NEAREST if "solver" in read_option(f"method/{name}")]


@pytest.mark.parametrize(("name", "overrides"), NEAREST)
def test_a_sum_that_cannot_be_is_taken_as_the_nearest_one_that_can(name, overrides, tables):
    """Where a loss needs a count or a proportion that can be: below 0 or above the size it has no least value.

    Of what is linear in the sums a noisy one is used as it is, so that the gradient stays unbiased: test_noise.py.
    """
    method = prepare(name, "binary", tables, overrides=overrides)
    scores = scores_of(18)["ordinary"]
    noisy, possible, between = (
        loss_and_gradient(method, scores, batch_of(tables["binary"], [4, 5, 6, 3], sums))
        for sums in ([-3.2, 9.0, 3.0, -0.2], [0.0, 5.0, 3.0, 0.0], [-1.6, 7.0, 3.0, -0.1])
    )
    if not torch.allclose(2 * between[1], noisy[1] + possible[1], rtol=1e-5, atol=1e-6):
        torch.testing.assert_close(noisy, possible, rtol=1e-6, atol=1e-7)
