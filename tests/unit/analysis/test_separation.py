"""Bag separations: closed forms against brute force, and what the paper proves about them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from llp.analysis.separation import (
    NO_BAGS,
    bag_sep_matrix,
    from_matrix,
    separation_measures,
    squared_euclidean,
    squared_euclidean_matrix,
)
from llp.analysis.vector_blocks import Embedded, Scaled, moments

VOCAB = 4


def offsets_of(sizes):
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def brute(points, rows, offsets, distance):
    """BagSepMatrix by two loops over all instances."""
    bags = [points[rows[a:b]] for a, b in itertools.pairwise(offsets)]
    return np.array([[np.mean([distance(x, y) for x in one for y in other]) for other in bags] for one in bags])


def squared(x, y):
    return ((x - y) ** 2).sum()


def numbers(points, rows, offsets):
    blocks = [Scaled(points[:, j], length=1.0) for j in range(points.shape[1])]
    return squared_euclidean(moments(block, rows, offsets) for block in blocks)


@st.composite
def bagged_points(draw):
    """2 to 5 bags of 1 to 6 points on a small grid; rows in any order."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=5))
    n, dims = sum(sizes), draw(st.integers(1, 3))
    points = draw(hnp.arrays(np.float64, (n, dims), elements=st.integers(-3, 3).map(float)))
    rows = np.array(draw(st.permutations(range(n))), np.int64)
    return points, rows, offsets_of(sizes)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_blocks_of_every_kind_equal_brute_force(sizes, seed):
    """One-hot, embedded and scaled columns side by side, against their dense vectors built here."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    codes, other = rng.integers(0, VOCAB, (2, n))
    number = rng.normal(5, 2, n)
    embedding, vector = rng.normal(size=(VOCAB, 3)), rng.normal(size=3)
    points = np.column_stack([np.eye(VOCAB)[codes], embedding[other], number[:, None] * vector])
    blocks = [
        Embedded.one_hot(codes.astype(np.uint8), VOCAB),
        Embedded(other.astype(np.uint16), embedding),
        Scaled(number, float(np.linalg.norm(vector))),
    ]
    rows, offsets = rng.permutation(n), offsets_of(sizes)
    found = squared_euclidean(moments(block, rows, offsets) for block in blocks)
    expected = from_matrix(brute(points, rows, offsets, squared))
    np.testing.assert_allclose(found.intra, expected.intra, atol=1e-9)
    np.testing.assert_allclose(found.inter, expected.inter, atol=1e-9)

    matrix = squared_euclidean_matrix(blocks, rows, offsets)
    np.testing.assert_allclose(matrix, brute(points, rows, offsets, squared), atol=1e-9)

    def dense(rows):
        return np.concatenate([block.vectors(rows) for block in blocks], axis=1)

    np.testing.assert_allclose(bag_sep_matrix(dense, rows, offsets, "sqeuclidean"), matrix, atol=1e-9)


def test_one_hot_pairs_beyond_32_bits():
    """70,000 bags of one instance × 70,000 codes: ⟨m_B, Σ m_B'⟩ is how often the bag's code occurs."""
    n = 70_000
    codes = np.random.default_rng(0).integers(0, n, n).astype(np.int32)
    found = moments(Embedded.one_hot(codes, n), np.arange(n), np.arange(n + 1))
    np.testing.assert_array_equal(found.square_of_mean, 1)
    np.testing.assert_array_equal(found.mean_dot_total, np.bincount(codes, minlength=n)[codes])


@pytest.mark.parametrize(("metric", "order"), [("euclidean", 2), ("cityblock", 1)])
@given(case=bagged_points())
def test_bag_sep_of_a_metric(metric, order, case):
    points, rows, offsets = case
    matrix = bag_sep_matrix(lambda rows: points[rows], rows, offsets, metric)
    expected = brute(points, rows, offsets, lambda x, y: np.linalg.norm(x - y, order))
    np.testing.assert_allclose(matrix, expected, atol=1e-9)
    separations = from_matrix(matrix)
    others = expected[~np.eye(len(expected), dtype=bool)].reshape(len(expected), -1)
    np.testing.assert_allclose(separations.intra, np.diagonal(expected), atol=1e-9)
    np.testing.assert_allclose(separations.inter, others.mean(axis=1), atol=1e-9)


def test_undefined_is_nan():
    points, rows = np.array([[1.0], [1.0], [5.0], [5.0]]), np.arange(4)
    equal_points = separation_measures(numbers(points, rows, offsets_of([2, 2])))
    assert equal_points["mean_intra_separation"] == 0
    assert equal_points["mean_inter_separation"] == 16
    assert np.isnan(equal_points["inter_intra_ratio"])
    one_bag = separation_measures(numbers(points, rows, offsets_of([4])))
    assert one_bag["mean_intra_separation"] == 8
    assert np.isnan(one_bag["inter_intra_ratio"])
    assert np.isnan(from_matrix(np.ones((1, 1))).inter).all()
    assert all(np.isnan(value) for value in separation_measures(NO_BAGS).values())


def test_equal_embedded_points_leave_no_rounding():
    embedding = np.random.default_rng(0).normal(size=(3, 16))
    block = Embedded(np.repeat([0, 1], 700), embedding)
    separations = squared_euclidean([moments(block, np.arange(1400), offsets_of([700, 700]))])
    np.testing.assert_array_equal(separations.intra, 0)


def test_rounding_makes_no_separation_negative():
    """Bags of one and the same point lie at distance 0 from each other; what rounding leaves has no sign."""
    for seed in range(20):
        block = Embedded(np.zeros(12, np.int64), np.random.default_rng(seed).normal(size=(1, 16)))
        rows, offsets = np.arange(12), offsets_of([3, 4, 5])
        separations = squared_euclidean([moments(block, rows, offsets)])
        matrix = squared_euclidean_matrix([block], rows, offsets)
        for found in (*separations, matrix):
            assert (found >= 0).all()
            np.testing.assert_allclose(found, 0, atol=1e-12)


def test_large_numbers_keep_their_digits():
    """Time stamps: squared norms of 1e18 must not swallow distances of a few seconds."""
    values = 1.3e9 + np.array([0.0, 2.0, 10.0, 12.0])
    separations = squared_euclidean([moments(Scaled(values, length=1.0), np.arange(4), offsets_of([2, 2]))])
    np.testing.assert_allclose(separations.intra, [2, 2])
    np.testing.assert_allclose(separations.inter, [102, 102])
