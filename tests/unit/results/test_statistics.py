"""Statistics against scipy and closed forms."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from llp.results.statistics import (
    cliques,
    confidence_set,
    corrected_paired_t,
    critical_difference,
    friedman,
    holm,
    least_difference,
    least_wilcoxon_p,
    rank_draws,
    ranks,
    wilcoxon_p,
)

finite = st.floats(-1, 1).map(lambda value: round(value, 6))


@given(arrays(np.float64, st.integers(2, 12), elements=finite))
def test_without_test_rows_the_corrected_test_is_the_paired_t_test(differences):
    assume(differences.std() > 1e-6)
    ours, scipy = corrected_paired_t(differences, 1.0, 0.0), stats.ttest_1samp(differences, 0.0)
    assert ours.t == pytest.approx(scipy.statistic, rel=1e-9, abs=1e-12)
    assert ours.p == pytest.approx(scipy.pvalue, rel=1e-9)
    assert ours.effect == pytest.approx(differences.mean() / differences.std(ddof=1), rel=1e-9, abs=1e-12)


@given(arrays(np.float64, 5, elements=finite))
def test_the_correction_widens_the_variance_by_its_closed_form(differences):
    assume(differences.std() > 1e-6)
    plain, corrected = corrected_paired_t(differences, 1.0, 0.0), corrected_paired_t(differences, 80.0, 20.0)
    assert corrected.t == pytest.approx(plain.t * math.sqrt((1 / 5) / (1 / 5 + 20 / 80)), rel=1e-9, abs=1e-12)
    assert corrected.p >= plain.p


def test_equal_differences_and_single_folds():
    assert corrected_paired_t(np.full(5, 0.1), 4, 1).p == 0.0
    assert corrected_paired_t(np.zeros(5), 4, 1)[:3] == (0.0, 0.0, 1.0)
    assert math.isnan(corrected_paired_t(np.array([0.1]), 4, 1).p)


def runs_of(rng, n_runs, effects, *, shared):
    """Scores (runs, methods) whose runs are correlated by `shared` of their variance, as overlapping train rows do."""
    of_all = rng.normal(size=(1, len(effects))) * np.sqrt(shared)
    return np.asarray(effects) + of_all + rng.normal(size=(n_runs, len(effects))) * np.sqrt(1 - shared)


def test_under_the_null_the_corrected_repeated_test_rejects_as_often_as_it_says():
    """Of 25 runs whose scores are correlated as the correction assumes: n_test / (n_train + n_test)."""
    rng = np.random.default_rng(0)
    differences = [np.subtract(*runs_of(rng, 25, [0, 0], shared=0.2).T) for _ in range(4000)]
    rejected = np.mean([corrected_paired_t(one, 80, 20).p < 0.05 for one in differences])
    assert rejected == pytest.approx(0.05, abs=0.012)
    assert np.mean([stats.ttest_1samp(one, 0).pvalue < 0.05 for one in differences]) > 0.3  # what is corrected


def test_a_difference_is_shown_from_the_least_one_on():
    differences = np.random.default_rng(1).normal(size=25)
    least = least_difference(differences, 80, 20, 0.01)
    shift = differences - differences.mean()
    assert (
        corrected_paired_t(shift + 1.001 * least, 80, 20).p < 0.01 < corrected_paired_t(shift + 0.999 * least, 80, 20).p
    )
    assert math.isnan(least_difference(np.array([0.1]), 80, 20, 0.05))


@pytest.mark.parametrize("effects", [(0, 0, 0, 0), (0, -0.05, -0.05, -3)])
def test_the_confidence_set_holds_each_method_within_the_margin_with_90_percent(effects):
    rng, kept = np.random.default_rng(2), []
    for _ in range(600):
        scores = runs_of(rng, 25, effects, shared=0.2)
        kept.append(confidence_set(scores, 80, 20, margin=0.05, alpha=0.1))
    share = np.mean(kept, axis=0)
    assert (share[np.array(effects) >= -0.05] > 0.88).all()
    assert (share[np.array(effects) < -1] < 0.3).all()


def test_the_confidence_set_of_one_run_leaves_none_out():
    assert confidence_set(np.array([[0.9, 0.1]]), 80, 20, margin=0.0, alpha=0.1) == [True, True]
    sure = np.array([[0.9, 0.1]] * 3)
    assert confidence_set(sure, 80, 20, margin=0.5, alpha=0.1) == [True, False]
    assert confidence_set(sure, 80, 20, margin=0.9, alpha=0.1) == [True, True]


def test_no_signed_ranks_have_a_smaller_p_than_the_least():
    assert wilcoxon_p(np.arange(1.0, 9)) == pytest.approx(least_wilcoxon_p(8, 1))
    assert least_wilcoxon_p(2, 20) == 1.0
    differences = np.array([0.1, 0.2, -0.05, 0.3, 0.15])
    assert wilcoxon_p(differences) == stats.wilcoxon(differences).pvalue
    assert math.isnan(wilcoxon_p(np.zeros(5)))


def interval(tables, **options):
    return np.quantile(rank_draws(tables, **options), [0.05, 0.95], axis=0)


def test_intervals_of_ranks_are_of_tables_not_of_their_bag_datasets():
    """Six bag datasets of one table weigh as that table: whichever way it goes."""
    a_first, b_first = np.array([[1.0, 0.0]] * 2), np.array([[0.0, 1.0]] * 2)
    alike = interval({"x": [a_first] * 6, "y": [b_first], "z": [b_first]}, larger_is_better=True)
    assert (alike[0] < 1.1).all() or (alike[1] > 1.9).all()
    assert alike[1][0] == 2.0  # neither table x: 8 of 27 draws
    sure = interval({"x": [a_first] * 2, "y": [a_first]}, larger_is_better=True)
    np.testing.assert_array_equal(sure, [[1.0, 2.0]] * 2)
    np.testing.assert_array_equal(interval({"x": [a_first]}, larger_is_better=False), [[2.0, 1.0]] * 2)


@given(st.lists(st.floats(0, 1) | st.just(math.nan), min_size=1, max_size=8))
def test_holm_is_the_family_wise_bound_of_its_definition_and_passes_undefined_values_by(p_values):
    known = sorted(p for p in p_values if not math.isnan(p))
    bounds = np.maximum.accumulate([min(1.0, p * (len(known) - step)) for step, p in enumerate(known)])
    expected = [math.nan if math.isnan(p) else bounds[np.searchsorted(known, p, "right") - 1] for p in p_values]
    np.testing.assert_allclose(holm(p_values), expected)


@given(arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(3, 6)), elements=st.integers(0, 5).map(float)))
def test_friedman_is_scipys_with_ties(scores):
    ranked = ranks(scores, larger_is_better=True)
    np.testing.assert_array_equal(ranked, stats.rankdata(-scores, axis=1))
    np.testing.assert_array_equal(ranks(scores, larger_is_better=False), stats.rankdata(scores, axis=1))
    assume(np.ptp(ranked, axis=1).any())
    test = friedman(ranked)
    n, k = scores.shape
    assert test.chi2 == pytest.approx(stats.friedmanchisquare(*scores.T).statistic)
    if math.isfinite(test.f):
        assert test.f == pytest.approx((n - 1) * test.chi2 / (n * (k - 1) - test.chi2), rel=1e-6)
        assert test.p == pytest.approx(stats.f.sf(test.f, k - 1, (k - 1) * (n - 1)))


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (10, 3.164)])
def test_critical_differences_are_those_of_the_printed_table(k, q):
    assert critical_difference(k, 30) == pytest.approx(q * math.sqrt(k * (k + 1) / 180), rel=1e-3)


@given(st.lists(st.floats(1, 9), min_size=2, max_size=9).map(sorted), st.floats(0.1, 3))
def test_cliques_hold_every_pair_that_is_not_told_apart_and_none_holds_another(mean_ranks, difference):
    found = cliques(mean_ranks, difference)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in itertools.pairwise(found))
    for i in range(len(mean_ranks)):
        for j in range(i + 1, len(mean_ranks)):
            alike = mean_ranks[j] - mean_ranks[i] < difference
            assert alike == any(first <= i and j <= last for first, last in found)
