"""Noise on label sums: the mechanism that it says, what it promises, and what stays unbiased under it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from llp.data.bags import Bags
from llp.data.keys.report import ReportKey
from llp.data.noise import Noise, Promise, check_sensitivity, noise_of, with_flips, with_noise
from llp.data.on_device import table_on
from llp.errors import InputError
from llp.runs.build import Parts
from llp.runs.record import RunRecord
from tests.helpers.commands import TINY
from tests.helpers.composed import check_build, check_config, composition, open_table, run_of, run_one
from tests.helpers.every_method import batch_of, prepare
from tests.helpers.tables import make_table

pytestmark = pytest.mark.run  # simulates for seconds

LAPLACE = Noise("laplace", epsilon=0.5, delta=0.0, sensitivity=1.0, seed=0)
GAUSSIAN = Noise("analytic_gaussian", epsilon=0.5, delta=1e-5, sensitivity=1.0, seed=0)


def delta_of(distance, epsilon):
    """The δ of two normal laws of deviation 1 at this distance: the integral of p − e^ε q where it is positive."""
    edge = epsilon / distance + distance / 2  # where log p/q = ε
    p, q = (lambda x, mean=mean: math.exp(-((x - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (distance, 0))
    top = edge + max(distance - edge, 0) + 12  # beyond it nothing is left
    return integrate.quad(lambda x: p(x) - math.exp(epsilon) * q(x), edge, top, epsabs=1e-13, epsrel=1e-9, limit=500)[0]


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=lambda noise: noise.mechanism)
def test_noise_has_mean_zero_and_its_mechanisms_variance(noise):
    drawn = noise.draw(40_000, fold=0)
    assert abs(drawn.mean()) < 3 * drawn.std() / math.sqrt(len(drawn))
    squares = drawn**2
    assert abs(squares.mean() - noise.variance) < 3 * squares.std() / math.sqrt(len(drawn))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 10.0, 30.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.01])
def test_analytic_gaussian_is_the_least_noise_that_hides_a_label_for_any_epsilon(epsilon, delta):
    scale = replace(GAUSSIAN, epsilon=epsilon, delta=delta).scale
    assert delta_of(1 / scale, epsilon) == pytest.approx(delta, rel=1e-6)
    assert delta_of(1.001 / scale, epsilon) > delta


def test_analytic_gaussian_needs_no_noise_beyond_what_delta_alone_allows():
    """At ε → 0 two laws differ by their total variation, 2Φ(1/2σ) − 1; huge ε leaves almost no noise."""
    scale = replace(GAUSSIAN, epsilon=1e-6, delta=0.1).scale
    assert 2 * stats.norm.cdf(1 / (2 * scale)) - 1 == pytest.approx(0.1, rel=1e-4)
    assert 0 < replace(GAUSSIAN, epsilon=1e9).scale < 1e-4


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=lambda noise: noise.mechanism)
@pytest.mark.parametrize("neighbours", ["label", "replace"])
def test_losses_of_privacy_that_are_seen_in_draws_are_as_promised(noise, neighbours):
    """Two tables that are neighbours, rows in two bags: log p/q of many reports exceeds ε as seldom as δ allows."""
    noise = replace(noise, epsilon=1.0, delta=noise.delta and 0.05, neighbours=neighbours, bags_of_a_row=2)
    change = np.array([1.0, 1.0, 0.0, 0.0]) if neighbours == "label" else np.array([1.0, 1.0, -1.0, -1.0])
    draws = np.stack([noise.draw(4, fold) for fold in range(5_000)])
    law = stats.laplace(scale=noise.scale) if noise is not GAUSSIAN and noise.mechanism == "laplace" else None
    law = law or stats.norm(scale=noise.scale)
    loss = (law.logpdf(draws) - law.logpdf(draws + change)).sum(1)
    spent = np.maximum(1 - np.exp(1.0 - loss), 0)  # its mean is δ: the part of p beyond e^ε q
    error = spent.std() / math.sqrt(len(spent))
    assert spent.mean() == pytest.approx(noise.delta, abs=4 * error + 1e-12)
    if noise.mechanism == "laplace":
        assert loss.max() == pytest.approx(1.0)  # met, and never exceeded
    else:
        assert (loss > 1.0).mean() > noise.delta  # ε alone does not hold


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
    assert delta_of(distance, 0.5) == pytest.approx(1e-5)  # no more noise than promised


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=lambda noise: noise.mechanism)
def test_noise_that_is_drawn_grows_with_the_sensitivity_and_the_bags_of_a_row(noise):
    drawn = noise.draw(100, fold=0)
    np.testing.assert_allclose(replace(noise, sensitivity=7.0).draw(100, fold=0), 7 * drawn)
    times = 9 if noise.mechanism == "laplace" else 3
    np.testing.assert_allclose(replace(noise, bags_of_a_row=9).draw(100, fold=0), times * drawn)
    times = 2 if noise.mechanism == "laplace" else math.sqrt(2)  # one instance leaves its bag, one comes into another
    np.testing.assert_allclose(replace(noise, neighbours="replace").draw(100, fold=0), times * drawn)
    np.testing.assert_array_equal(replace(noise, neighbours="row").draw(100, fold=0), drawn)


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


def test_noise_of_a_report_is_scaled_to_the_published_cells_of_a_row(tmp_path):
    table = make_table(tmp_path / "t", n=500)
    key = ReportKey(columns=("a", "b", "c"), queries=(("a",), ("a", "b", "c")), least_count=40)  # publishes no triple
    train = key.fold_bags(table, 0).train
    assert noise_of(LAPLACE, table, key, train).scale == LAPLACE.scale
    # an instance that comes in its place might be in a cell of each query
    assert noise_of(replace(LAPLACE, neighbours="replace"), table, key, train).scale == 4 * LAPLACE.scale


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
    found = np.array([slope(np.add(SUMS, noise.draw(len(SUMS), draw))) for draw in range(500)])
    error = found.std(ddof=1) / math.sqrt(len(found))
    assert 0 < error < 0.2 * found.std()
    assert abs(found.mean() - slope(SUMS)) < 3 * error


def test_sensitivity_below_what_a_label_can_change_is_refused(tmp_path):
    check_sensitivity(make_table(tmp_path / "binary", n=40), LAPLACE)
    real = make_table(tmp_path / "real", n=40, label_kind="real")
    with pytest.raises(InputError, match=r"noise.sensitivity=1.0: expected the range of the labels of real or more"):
        check_sensitivity(real, LAPLACE)
    check_sensitivity(real, Noise("laplace", 0.5, 0.0, sensitivity=100.0, seed=0))
    label = np.array(real.label)
    far, width = float(np.abs(label).max()), float(np.ptp(label))
    assert far > width  # so a row moves a sum by more than its label could
    check_sensitivity(real, Noise("laplace", 0.5, 0.0, width, 0))
    for neighbours in ("row", "replace"):
        with pytest.raises(InputError, match=f"expected the largest absolute value of the labels of real .*, {far:g}"):
            check_sensitivity(real, Noise("laplace", 0.5, 0.0, width, 0, neighbours))
        check_sensitivity(real, Noise("laplace", 0.5, 0.0, far, 0, neighbours))
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


FLIPS = Noise("randomised_response", epsilon=0.5, delta=0.0, sensitivity=1.0, seed=0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_flips_hide_each_label_up_to_epsilon_and_are_undone_in_the_mean(tmp_path, epsilon):
    noise = replace(FLIPS, epsilon=epsilon)
    rate = noise.flip_rate
    assert (1 - rate) / rate == pytest.approx(math.exp(epsilon))  # how much likelier a label is its own than the other
    table = make_table(tmp_path / "t", n=4000)
    bags = Bags(np.arange(3000), np.arange(0, 3001, 3), table.label[:3000].reshape(-1, 3).sum(1).astype(float))
    drawn = [with_flips(table, bags, noise, fold) for fold in range(20)]
    for flipped, noisy in drawn:
        np.testing.assert_array_equal(flipped.label[3000:], table.label[3000:])  # test rows keep theirs
        share = (flipped.label[:3000] != table.label[:3000]).mean()
        assert share == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / 3000))
        np.testing.assert_allclose(noisy.noise_variance, 3 * rate * (1 - rate) / (1 - 2 * rate) ** 2)
    error = np.array([noisy.label_sum - bags.label_sum for _, noisy in drawn])
    assert abs(error.mean()) < 4 * error.std() / math.sqrt(error.size)
    assert error.var() == pytest.approx(3 * noise.variance, rel=0.05)
    assert drawn[0][0].labels != drawn[1][0].labels
    others, _ = with_flips(table, replace(bags, rows=bags.rows + 1000), noise, fold=0)  # those of another grouping key
    held = table_on(drawn[0][0], torch.device("cpu"))
    assert not np.array_equal(held.label.numpy(), others.label)
    np.testing.assert_array_equal(table_on(others, torch.device("cpu")).label.numpy(), others.label)
    assert table_on(with_flips(table, bags, noise, 0)[0], torch.device("cpu")) is held
    np.testing.assert_array_equal(table.label, make_table(tmp_path / "same", n=4000).label)


def test_methods_learn_from_flipped_labels_and_never_from_those_below(tiny):
    """The train rows' labels that a method sees, or sums, are the flipped ones; the test rows' are their own."""
    config = tiny("noise=randomised_response", "noise.epsilon=2", "method=instance_bce", "grouping_key=random_1")
    check_build(config, open_table(config))
    parts = Parts.of(check_config(config))
    data = parts.data(instance_labels=True)
    own, seen = parts.table.label, data.table.label
    train, test = data.train_bags.rows, data.test_rows
    assert 0.05 < (own[train] != seen[train]).mean() < 0.2
    assert np.array_equal(own[test], seen[test])
    seen_in_batches = np.concatenate([batch.label.numpy() for batch in data.train_dataloader()])
    assert seen_in_batches.sum() == seen[train].sum() != own[train].sum()
    resident = table_on(data.table, torch.device("cpu"))
    assert table_on(parts.table, torch.device("cpu")) is not resident
    np.testing.assert_array_equal(resident.label.numpy(), seen)


def test_flips_are_recorded_and_noise_of_a_cells_sum_is_that_of_its_rows(tiny, caplog):
    caplog.set_level("INFO", "llp")
    words = ("grouping_key=random_1", "noise=randomised_response", "method=cell_glm", "method.queries=[[C8],[C16]]")
    record = run_one(tiny(*words, "noise.epsilon=3"))
    assert record.config["noise"]["mechanism"] == record.noise.mechanism == "randomised_response"
    assert (record.noise.sensitivity, record.noise.bags_of_a_row) == (1.0, 1)
    seen = run_one(tiny(*words[:2], "method=instance_bce", "noise.epsilon=40", "trainer.max_epochs=1"))
    assert not seen.instance_labels  # it stands beside methods that learn from bags with the same ε
    assert "labels flipped at a rate of 0.04743 promise epsilon=3 of each of them" in caplog.text
    assert "Features and counts are taken as public" in caplog.text
    exact, nearly = (
        run_one(tiny(*words[::2], words[3], "method.penalty=10", *more))
        for more in ((), (words[1], "noise.epsilon=40"))
    )
    assert nearly.measures == exact.measures


@pytest.mark.parametrize("mechanism", ["laplace", "analytic_gaussian"])
@pytest.mark.parametrize("m", [1, 6, 21])
def test_promise_says_which_cells_are_told_better_than_by_flips(mechanism, m):
    """At small ε: those of more than 2 m² rows with Laplace noise, of σ₁² m with Gaussian noise."""
    noise = Noise(mechanism, 0.01, 0.0 if mechanism == "laplace" else 1e-6, 1.0, 0, bags_of_a_row=m)
    edge = 2 * m**2 if mechanism == "laplace" else m * (0.01 * replace(noise, bags_of_a_row=1).scale) ** 2
    sizes = np.array([int(0.9 * edge), 1 + int(1.1 * edge), 1 + int(3 * edge)])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    bags = Bags(np.arange(offsets[-1]), offsets, np.zeros(3))
    found = Promise.of(noise, with_noise(bags, noise, 0), 0)
    assert found.quieter == pytest.approx((sizes[1] + sizes[2]) / sizes.sum())
    assert Promise.of(noise, bags, 0).quieter is None


DESIGNS = ("random_bags", "feature_bags", "curated_bags", "singles", "pairs", "triple", "flips")


@pytest.mark.parametrize("design", DESIGNS)
def test_each_design_of_a_budget_is_a_run(tmp_path, data_dir, design):
    words = [word for word in TINY if "grouping_key" not in word]
    words += ["experiment=budget", f"design={design}", "dataset.key_columns=[C8,C16,C17]", "method.penalty=rule"]
    words += ["noise.epsilon=3", f"data_dir={data_dir}", f"outputs_dir={tmp_path}"]
    words += ["grouping_key=C8"] * (design == "feature_bags")
    record = run_one(composition("train", *words))
    assert record.noise.epsilon == 3
    assert len(record.facts["queries"]) == {"singles": 3, "triple": 7, "feature_bags": 1}.get(design, 6)
    assert {*record.facts["queries"]} <= {"C8", "C16", "C17", "C8_C16", "C8_C17", "C16_C17", "C8_C16_C17"}
    assert record.noise.bags_of_a_row == {"singles": 3, "pairs": 6, "triple": 7}.get(design, 1)
    assert (record.noise.mechanism == "randomised_response") == (design == "flips")
    assert 0 <= record.noise.quieter <= 1


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=lambda noise: noise.mechanism)
def test_queries_share_a_promise_as_they_are_given_to(tmp_path, noise):
    """One label moves a cell of each query by 1: their ε add up to that of all, or their 1/σ² to its."""
    table = make_table(tmp_path / "t", n=500)
    key = ReportKey(columns=("a", "b", "c"), queries=(("a",), ("b",), ("a", "c")), least_count=1)
    bags = key.fold_bags(table, 0).train
    noise = replace(noise, bags_of_a_row=3)
    shares = {"a": 0.5, "b": 0.2, "a_c": 0.3}
    equal, shared = (
        with_noise(bags, noise, 0, key.shares_of_queries(table, given))
        for given in (dict.fromkeys(shares, 1 / 3), shares)
    )
    np.testing.assert_allclose(equal.noise_variance, noise.variance)
    np.testing.assert_allclose(equal.label_sum, with_noise(bags, noise, 0).label_sum)
    drawn, as_equal = shared.label_sum - bags.label_sum, equal.label_sum - bags.label_sum
    np.testing.assert_allclose((drawn / as_equal) ** 2, shared.noise_variance / noise.variance)
    first = np.searchsorted(bags.cells.query_of, [0, 1, 2])
    variance = shared.noise_variance[first]
    assert variance[0] < variance[2] < variance[1]
    if noise.mechanism == "laplace":
        assert np.sum(1 / np.sqrt(variance / 2)) == pytest.approx(noise.epsilon)
    else:
        assert delta_of(math.sqrt(np.sum(1 / variance)), noise.epsilon) == pytest.approx(noise.delta)


REPORTED = ("grouping_key=report", "dataset.key_columns=[C8,C16]", "method=cell_glm", "method.penalty=rule")
SHARES = "noise.shares={C8:0.5,C16:0.25,C8_C16:0.25}"


def test_shares_are_in_the_record(tiny):
    record = run_one(tiny(*REPORTED, "noise=laplace", SHARES))
    assert record.config["noise"]["shares"] == {"C8": 0.5, "C16": 0.25, "C8_C16": 0.25}


NUMBERS = "numbers >= 1e-06 that sum to 1"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("noise=laplace", "method=instance_bce"), "trains on labelled instances, and noise=laplace is on the sums"),
        (("noise=randomised_response", *REPORTED[:2]), r"^Invalid noise=randomised_response: .* grouping_key=random_1"),
        (("noise=laplace", SHARES), r"^Invalid noise.shares=.*: expected null, as only grouping_key=report has"),
        *(
            (("noise=laplace", f"noise.shares={shares}", *REPORTED), rf"^Invalid noise.shares.*: expected {expected}")
            for shares, expected in (
                ("{C8:0.5,C16:0.25}", NUMBERS),
                ("{C8:0.5,C16:0.5}", "a share of each query, C8, C16, C8_C16"),
                ("{C8:0.5,C16:0.5,C8_C16:0}", NUMBERS),
                ("{}", NUMBERS),
                ("5", ""),
                ("{C8:x}", ""),
            )
        ),
    ],
)
def test_noise_that_cannot_be_is_refused(tiny, words, expected):  # on given bags: tests/unit/runs/test_given_bags.py
    with pytest.raises(InputError, match=expected):
        check_build(tiny(*words), open_table(tiny()))
