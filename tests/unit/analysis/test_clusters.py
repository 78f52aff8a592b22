"""Clusters of bag datasets: names follow the rising order of the cluster means, whatever order the datasets come in."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from llp.analysis.clusters import assign, clusterings


def clustering(name, label_kind="binary", tail="p85"):
    return next(c for c in clusterings(label_kind, tail) if c.name == name)


@pytest.mark.parametrize(
    ("label_kind", "expected"), [("binary", ["very low", "low", "medium", "high"]), ("real", ["low", "medium", "high"])]
)
def test_names_rise_with_the_measure(label_kind, expected):
    levels = np.repeat(np.arange(len(expected)), 3)
    values = levels + np.tile([0.0, 0.01, 0.02], len(expected))
    order = np.random.default_rng(1).permutation(len(values))
    rows = [{"std_label_proportion": float(values[i])} for i in order]
    assert assign(clustering("label_variation", label_kind), rows) == [expected[levels[i]] for i in order]


def test_tails_are_named_by_the_percentile_that_is_asked_for():
    sizes = [(100, 400), (150, 300), (200, 200)]  # (70 %, 85 %): opposite orders
    rows = [
        {"bag_size_p50": 60, "bag_size_p70": p70, "bag_size_p85": p85, "bag_size_p95": 900}
        for p70, p85 in sizes
        for _ in range(2)
    ]
    by_p85 = assign(clustering("tail", "real", "p85"), rows)[::2]
    by_p70 = assign(clustering("tail", "real", "p70"), rows)[::2]
    assert by_p85 == by_p70[::-1] == ["long-tailed", "medium-tailed", "short-tailed"]


def test_undefined_datasets_have_no_cluster():
    ratios = [1.0, 1.5, float("nan"), 2.0, 2.5]
    rows = [{"inter_intra_ratio": ratio} for ratio in ratios]
    names = assign(clustering("separation"), rows)
    assert names == ["less-separated", "medium-separated", None, "well-separated", "far-separated"]


@pytest.mark.parametrize("ratios", [(1.0, 1.2, 1.2, 1.2, 1.9), ()])  # three distinct ones, none
def test_too_few_datasets_have_no_clusters(ratios):
    assert assign(clustering("separation"), [{"inter_intra_ratio": one} for one in ratios]) == [None] * len(ratios)


def partition(names):
    return [[name == other for other in names] for name in names]


def test_clusters_are_those_of_ten_starts_from_the_published_seed_on_all_four_standardised_percentiles():
    tail = next(one for one in clusterings("binary", "p85") if one.name == "tail")
    assert tail.measures == ("bag_size_p50", "bag_size_p70", "bag_size_p85", "bag_size_p95")
    differ = dict.fromkeys(("one start", "seed", "without p95", "not standardised"), 0)
    for draw in range(25):
        values = np.random.default_rng(draw).random((40, 4)) * [1, 1, 1, 50]
        rows = [dict(zip(tail.measures, row, strict=True)) for row in values.tolist()]
        standard = (values - values.mean(axis=0)) / values.std(axis=0)
        found = partition(assign(tail, rows))
        assert found == partition(KMeans(4, n_init=10, random_state=42).fit_predict(standard).tolist())
        others = {
            "one start": KMeans(4, n_init=1, random_state=42).fit_predict(standard),
            "seed": KMeans(4, n_init=10, random_state=0).fit_predict(standard),
            "without p95": KMeans(4, n_init=10, random_state=42).fit_predict(standard[:, :3]),
            "not standardised": KMeans(4, n_init=10, random_state=42).fit_predict(values),
        }
        for name, other in others.items():
            differ[name] += found != partition(other.tolist())
    assert min(differ.values()) > 0  # so that the comparison tells them apart
