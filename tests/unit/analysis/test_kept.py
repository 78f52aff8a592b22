"""Which keys belong to a benchmark, and the clusters against scikit-learn's own k-means."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from llp.analysis.clusters import assign, clusterings
from llp.analysis.counting import GroupCounts
from llp.analysis.hardness import (
    chi_squared,
    cramers_v,
    hardness,
    mean_log_likelihood,
    percent_in_large_skewed,
    value_at,
)
from llp.analyze import is_kept


@pytest.mark.parametrize(
    ("kept", "percent", "expected"),
    [(3, 30.0, True), (3, 29.999, False), (3, 100.0, True), (0, 30.0, False), (0, 0.0, False), (1, 31.0, True)],
)
def test_a_key_that_keeps_exactly_the_share_is_kept_and_one_without_bags_is_not(kept, percent, expected):
    assert is_kept({"n_bags_kept": kept, "percent_instances_kept": percent}, 30.0) is expected


def test_a_share_of_nothing_does_not_keep_a_key_without_bags():
    assert not is_kept({"n_bags_kept": 0, "percent_instances_kept": 0.0}, 0.0)


def partition(names):
    return [[name == other for other in names] for name in names]


def test_clusters_are_those_of_ten_starts_from_the_published_seed_on_all_four_percentiles():
    tail = next(one for one in clusterings("binary", "p85") if one.name == "tail")
    assert tail.measures == ("bag_size_p50", "bag_size_p70", "bag_size_p85", "bag_size_p95")
    differ = {"one start": 0, "seed": 0, "without p95": 0}
    for draw in range(25):
        values = np.random.default_rng(draw).random((40, 4))
        rows = [dict(zip(tail.measures, row, strict=True)) for row in values.tolist()]
        standard = (values - values.mean(axis=0)) / values.std(axis=0)
        found = partition(assign(tail, rows))
        assert found == partition(KMeans(4, n_init=10, random_state=42).fit_predict(standard).tolist())
        others = {
            "one start": KMeans(4, n_init=1, random_state=42).fit_predict(standard),
            "seed": KMeans(4, n_init=10, random_state=0).fit_predict(standard),
            "without p95": KMeans(4, n_init=10, random_state=42).fit_predict(standard[:, :3]),
        }
        for name, other in others.items():
            differ[name] += found != partition(other.tolist())
    assert min(differ.values()) > 0  # so that the comparison tells them apart


COUNTS = GroupCounts(1000, 6, np.array([50, 100, 200, 49, 201, 400]), np.array([5.0, 50.0, 180.0, 9.0, 20.1, 390.0]))


def test_thresholds_include_their_ends_and_measures_are_their_definitions():
    found = hardness(COUNTS, "binary", low_thresh=50, high_thresh=200)
    size, y = np.array([50, 100, 200]), np.array([5.0, 50.0, 180.0])
    alpha, p = y / size, 235 / 350
    assert (found["n_bags_kept"], found["n_instances_kept"], found["percent_instances_kept"]) == (3, 350, 35.0)
    assert found["std_bag_size"] == pytest.approx(np.sqrt(np.mean((size - size.mean()) ** 2)))
    assert found["std_label_proportion"] == pytest.approx(np.sqrt(np.mean((alpha - alpha.mean()) ** 2)))
    assert found["label_bias"] == pytest.approx(p)
    chi2 = sum(
        (a - k * p) ** 2 / (k * p) + ((k - a) - k * (1 - p)) ** 2 / (k * (1 - p)) for a, k in zip(y, size, strict=True)
    )
    assert chi_squared(size, y) == found["chi2"] == pytest.approx(chi2)
    assert cramers_v(chi2, size) == found["cramers_v"] == pytest.approx(np.sqrt(chi2 / 350))


def test_likelihood_counts_the_ways_of_each_count():
    from scipy.stats import binom

    size, y = np.array([5, 12, 3]), np.array([2.0, 0.0, 3.0])
    assert mean_log_likelihood(size, y) == pytest.approx(binom.logpmf(y, size, 5 / 20).mean())


def test_skewed_bags_lie_strictly_beyond_the_limits():
    counts = GroupCounts(1000, 4, np.array([200, 201, 400, 300]), np.array([0.0, 20.1, 390.0, 15.0]))
    # 200 is not above the limit; 0.1 is not below 0.1; 0.975 is above 0.9; 0.05 is below 0.1 and not below 0.05
    assert percent_in_large_skewed(counts, 200, 0.1) == pytest.approx(70.0)
    assert percent_in_large_skewed(counts, 200, 0.05) == pytest.approx(40.0)


def test_percentile_is_the_value_at_the_floor_of_its_share_of_n():
    ordered = np.arange(10)
    assert [value_at(ordered, q) for q in (0, 99, 100, 500, 850, 999)] == [0, 0, 1, 5, 8, 9]
