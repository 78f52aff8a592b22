"""Noise on label sums: the mechanism that it says, what it promises, and what stays unbiased under it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from llp.data.bags import Bags
from llp.data.noise import Noise, check_sensitivity, with_noise
from llp.errors import InputError
from llp.runs.record import RunRecord
from tests.helpers.composed import check_input, open_table, run_of, run_one
from tests.helpers.every_method import batch_of, prepare
from tests.helpers.tables import make_table

pytestmark = pytest.mark.run  # simulates for seconds

LAPLACE = Noise("laplace", epsilon=0.5, delta=0.0, sensitivity=1.0, seed=0)
GAUSSIAN = Noise("gaussian", epsilon=0.5, delta=1e-5, sensitivity=1.0, seed=0)
VARIANCE = {"laplace": 2 / 0.5**2, "gaussian": 2 * math.log(1.25 / 1e-5) / 0.5**2}


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=lambda noise: noise.mechanism)
def test_noise_has_mean_zero_and_its_mechanisms_variance(noise):
    drawn = noise.draw(40_000, fold=0)
    assert abs(drawn.mean()) < 3 * drawn.std() / math.sqrt(len(drawn))
    squares = drawn**2
    assert abs(squares.mean() - VARIANCE[noise.mechanism]) < 3 * squares.std() / math.sqrt(len(drawn))


def test_laplace_hides_a_label_up_to_epsilon():
    law = stats.laplace(scale=LAPLACE.scale)
    reports = np.linspace(-30, 30, 601)
    ratio = law.logpdf(reports) - law.logpdf(reports - 1)
    assert np.abs(ratio).max() == pytest.approx(0.5)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-5), (0.5, 0.01)])
def test_gaussian_hides_a_label_up_to_epsilon_and_delta(epsilon, delta):
    scale = Noise("gaussian", epsilon=epsilon, delta=delta, sensitivity=1.0, seed=0).scale
    # the mechanism's exact δ for this ε: Balle and Wang, ICML 2018, Theorem 8
    high, low = 1 / (2 * scale) - epsilon * scale, -1 / (2 * scale) - epsilon * scale
    assert stats.norm.cdf(high) - math.exp(epsilon) * stats.norm.cdf(low) <= delta


@pytest.mark.parametrize("m", [1, 2, 10])
@pytest.mark.parametrize("sensitivity", [1.0, 4.0])
def test_all_sums_of_a_label_together_are_private_where_a_row_is_in_several_bags(m, sensitivity):
    """One label moves the sums of m bags, each by the sensitivity: what all of them tell is at most epsilon."""
    scale = replace(LAPLACE, sensitivity=sensitivity, bags_of_a_row=m).scale
    law = stats.laplace(scale=scale)
    ratios = law.logpdf(40.0) - law.logpdf(40.0 - sensitivity)  # of one sum, at the worst report
    assert m * abs(ratios) == pytest.approx(0.5)
    scale = replace(GAUSSIAN, sensitivity=sensitivity, bags_of_a_row=m).scale
    distance = sensitivity * math.sqrt(m) / scale  # between the two laws of m sums, in standard deviations
    delta = stats.norm.cdf(distance / 2 - 0.5 / distance) - math.exp(0.5) * stats.norm.cdf(
        -distance / 2 - 0.5 / distance
    )
    assert delta <= 1e-5
    assert distance == pytest.approx(0.5 / math.sqrt(2 * math.log(1.25 / 1e-5)))  # no more noise than promised


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=lambda noise: noise.mechanism)
def test_noise_that_is_drawn_grows_with_the_sensitivity_and_the_bags_of_a_row(noise):
    drawn = noise.draw(100, fold=0)
    np.testing.assert_allclose(replace(noise, sensitivity=7.0).draw(100, fold=0), 7 * drawn)
    times = 9 if noise.mechanism == "laplace" else 3
    np.testing.assert_allclose(replace(noise, bags_of_a_row=9).draw(100, fold=0), times * drawn)


def test_noise_that_no_float32_holds_is_refused_by_the_bags_of_a_row_too(tmp_path):
    table = make_table(tmp_path / "t", n=40)
    check_sensitivity(table, Noise("laplace", 1e-36, 0.0, 1.0, 0))
    with pytest.raises(InputError, match=r"^Invalid noise.epsilon=1e-36: expected a number >= 1e-35, as the noise"):
        check_sensitivity(table, Noise("laplace", 1e-36, 0.0, 1.0, 0, bags_of_a_row=10))


def test_sums_are_taken_as_they_come_and_nothing_else_changes():
    bags = Bags(np.arange(60), np.arange(0, 61, 2), np.zeros(30))
    noisy = with_noise(bags, LAPLACE, fold=1)
    assert noisy.rows is bags.rows
    assert noisy.offsets is bags.offsets
    assert (noisy.label_sum < 0).any()
    assert (noisy.label_sum > noisy.sizes).any()
    assert np.array_equal(noisy.label_sum, with_noise(bags, LAPLACE, fold=1).label_sum)
    draws = [LAPLACE.draw(30, 0), LAPLACE.draw(30, 1), Noise("laplace", 0.5, 0.0, 1.0, seed=1).draw(30, 0)]
    assert not any(np.array_equal(a, b) for a, b in itertools.combinations(draws, 2))


SIZES, SUMS = [40, 60, 20, 30], [4.0, 30.0, 19.0, 11.0]


@pytest.mark.parametrize("name", ["dllp_mse", "genbags", "easy_llp", "dsq", "upm", "debiased"])
def test_gradients_that_are_linear_in_the_sums_stay_unbiased(name, tables):
    """The pooled mean is noisy too: it is computed from the noisy sums."""
    method = prepare(name, "binary", tables, dtype=torch.float64)
    direction = torch.randn(sum(SIZES), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scores = torch.randn(sum(SIZES), generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def slope(sums):
        method.label_mean = float(np.sum(sums) / np.sum(SIZES))
        point = scores.clone().requires_grad_()
        method.bag_loss(point, batch_of(tables["binary"], SIZES, sums)).backward()
        return float(point.grad @ direction)

    noise = Noise("laplace", epsilon=1.0, delta=0.0, sensitivity=1.0, seed=3)
    found = np.array([slope(np.add(SUMS, noise.draw(len(SUMS), draw))) for draw in range(1500)])
    error = found.std(ddof=1) / math.sqrt(len(found))
    assert 0 < error < 0.2 * found.std()
    assert abs(found.mean() - slope(SUMS)) < 3 * error


def test_sensitivity_below_what_a_label_can_change_is_refused(tmp_path):
    check_sensitivity(make_table(tmp_path / "binary", n=40), LAPLACE)
    real = make_table(tmp_path / "real", n=40, label_kind="real")
    with pytest.raises(InputError, match=r"noise.sensitivity=1.0: expected the range of the labels of real or more"):
        check_sensitivity(real, LAPLACE)
    check_sensitivity(real, Noise("laplace", 0.5, 0.0, sensitivity=100.0, seed=0))
    with pytest.raises(InputError, match=r"noise.sensitivity=0.5: expected 1 or more"):
        check_sensitivity(make_table(tmp_path / "again", n=40), Noise("laplace", 0.5, 0.0, 0.5, seed=0))


@pytest.mark.run
def test_record_tells_epsilon_and_a_run_without_noise_is_what_it_was(tiny):
    noisy, clean = tiny("noise=laplace", "noise.epsilon=0.25", "trainer.max_epochs=1"), tiny("trainer.max_epochs=1")
    assert "noise" not in run_of(clean).config
    assert run_of(noisy).hash != run_of(clean).hash
    record, before = run_one(noisy), run_one(clean)
    assert record.config["noise"] == {
        "mechanism": "laplace", "epsilon": 0.25, "delta": 0.0, "sensitivity": 1.0, "seed": 0,
    }  # fmt: skip
    assert before.noise is None
    promise = record.noise
    assert (promise.epsilon, promise.sensitivity, promise.bags_of_a_row, promise.scale) == (0.25, 1.0, 1, 4.0)
    assert "one has another label" in promise.neighbours
    assert RunRecord.read(run_of(noisy).result_path) == record
    assert record.n_train_bags == before.n_train_bags
    assert record.metric.best != before.metric.best


def test_method_that_sees_labels_is_refused_under_noise(tiny):
    config = tiny("noise=laplace", "method=instance_bce")
    with pytest.raises(InputError, match="trains on labelled instances, and noise=laplace is on the sums"):
        check_input(config, open_table(config))
