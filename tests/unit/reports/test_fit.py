"""Properties of fits on cells: of the passes, of the minimum, of the choice of the penalty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.data.cells import find_cells
from llp.reports.consistency import consistency
from llp.reports.families import LOGISTIC
from llp.reports.glm import Design, fit
from llp.reports.margins import Margins
from llp.reports.passes import Passes
from llp.reports.penalty import ChosenPenalty, Groups, SumNoise, choose_grouping, draw_probes, rule_of_thumb

QUERIES = [[(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)], [(0, 1), (1, 2)], [(0, 1, 2), (0,), (1, 2)], [(2,)], [(), (0,)]]


def made(seed=0, n=2000, sizes=(4, 7, 28), published=0.9):
    """Cells (n, Q), of which some are not published, and the labels' probabilities; 28 are the pairs of 4 and 7."""
    rng = np.random.default_rng(seed)
    first = np.cumsum([1, *sizes])
    codes = [rng.integers(0, size, n) for size in sizes]
    if sizes == (4, 7, 28):
        codes[2] = codes[0] * 7 + codes[1]
    total = int(first[-1]) - 1
    hidden = rng.random(total + 1) > published
    cells = np.stack([start + code for start, code in zip(first, codes, strict=False)], 1)
    cells[hidden[cells]] = total + 1
    theta = np.append(rng.normal(0, 0.7, total + 1), 0)
    p = 1 / (1 + np.exp(1 - theta[cells].sum(1)))
    return cells.astype(np.int32), total, p


def labelled(*args, **kwargs):
    """The same with labels drawn."""
    cells, n_cells, p = made(*args, **kwargs)
    return cells, n_cells, (np.random.default_rng(7).random(len(p)) < p).astype(float)


def design_of(cells, n_cells, threads=1):
    n = len(cells)
    return Design(Passes(cells, n_cells, threads), LOGISTIC, np.ones(n), np.zeros(n))


def matrix(cells, n_cells):
    one_hot = np.zeros((len(cells), n_cells + 2))
    one_hot[np.arange(len(cells))[:, None], cells] = 1
    one_hot[:, 0], one_hot[:, -1] = 1, 0
    return one_hot


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 300), threads=st.sampled_from([1, 2, 3]))
@settings(max_examples=30, deadline=None)
def test_passes_are_products_with_the_matrix_of_rows_by_cells(seed, n, threads):
    cells, n_cells, _ = made(seed, n)
    k, passes, rng = matrix(cells, n_cells), Passes(cells, n_cells, threads), np.random.default_rng(seed)
    theta, y, w = rng.normal(size=n_cells + 2), rng.normal(size=n), rng.random(n)
    theta[-1] = 0
    np.testing.assert_allclose(passes.scores(theta), k @ theta, atol=1e-12)
    np.testing.assert_allclose(passes.sums(y), k.T @ y, atol=1e-12)
    np.testing.assert_allclose(passes.curvature(w, theta), k.T @ (w * (k @ theta)), atol=1e-11)


def test_one_thread_gives_the_same_bits_again_and_two_nearly():
    cells, n_cells, y = labelled()
    found = []
    for threads in (1, 1, 2):
        design = design_of(cells, n_cells, threads)
        found.append(fit(design, design.passes.sums(y), rule_of_thumb(np.zeros(n_cells + 2)), 1e-9).theta)
    assert np.array_equal(found[0], found[1])
    np.testing.assert_allclose(found[2], found[0], atol=1e-9)


def test_steepness_is_in_standard_deviations_of_a_cells_sum():
    cells, n_cells, y = labelled()
    design, penalty = design_of(cells, n_cells), rule_of_thumb(np.zeros(n_cells + 2))
    sums = design.passes.sums(y)
    found = fit(design, sums, penalty, 1.0)
    h = 1 / (1 + np.exp(-found.scores))
    gradient = design.passes.sums(h) - sums + penalty * found.theta
    deviation = np.sqrt(design.passes.sums(h * (1 - h)) + penalty)
    assert 1e-9 < found.steepness == pytest.approx(np.abs(gradient / deviation).max())


def test_without_a_penalty_the_cells_of_one_query_have_their_proportions():
    cells, n_cells, y = labelled(sizes=(12,), published=1)
    design = design_of(cells, n_cells)
    sums = design.passes.sums(y)
    found = fit(design, sums, 1e-7 * rule_of_thumb(np.zeros(n_cells + 2)), 1e-8)
    predicted = 1 / (1 + np.exp(-(found.theta[0] + found.theta[1:-1])))
    np.testing.assert_allclose(predicted, sums[1:-1] / design.passes.sums(np.ones(len(y)))[1:-1], atol=1e-5)


@given(seed=st.integers(0, 2**32 - 1), least=st.sampled_from([1, 40]), queries=st.sampled_from(QUERIES))
@settings(max_examples=25, deadline=None)
def test_consistent_sums_are_the_nearest_that_labels_can_have(seed, least, queries):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 600) for size in (3, 4, 5)], 1).astype(np.int32)
    cells = find_cells(codes, (3, 4, 5), queries, least)
    ids = cells.of_rows(codes)
    passes, k = Passes(ids, len(cells)), matrix(ids, len(cells))[:, 1:-1]
    variance = np.concatenate([[0], rng.uniform(1, 9, len(cells)), [0]])
    consistent = consistency(passes, cells, codes, variance)
    true = passes.sums(rng.random(600))
    np.testing.assert_allclose(consistent(true)[1:-1], true[1:-1], atol=1e-6)
    noisy = true + np.sqrt(variance) * rng.normal(size=len(true))
    found = consistent(noisy)
    root = 1 / np.sqrt(variance[1:-1])
    labels = np.linalg.lstsq(root[:, None] * k.T, root * noisy[1:-1], rcond=None)[0]
    if least == 1:  # else more can follow than equations of published cells alone
        np.testing.assert_allclose(found[1:-1], k.T @ labels, atol=1e-5)
    assert np.square(root * (found - true)[1:-1]).sum() <= np.square(root * (noisy - true)[1:-1]).sum() + 1e-9
    np.testing.assert_allclose(consistent(found), found, atol=1e-5)
    if least == 1 and (ids <= len(cells)).all(0).any():  # a query that holds every row
        np.testing.assert_allclose(found[0], labels.sum(), atol=1e-5)


@given(seed=st.integers(0, 2**32 - 1), least=st.sampled_from([1, 40]), queries=st.sampled_from(QUERIES[:4]))
@settings(max_examples=25, deadline=None)
def test_margins_change_no_fit(seed, least, queries):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 600) for size in (3, 4, 5)], 1).astype(np.int32)
    cells = find_cells(codes, (3, 4, 5), queries, least)
    passes = Passes(cells.of_rows(codes), len(cells))
    weight, y = rng.uniform(0.5, 2, 600), rng.random(600)
    penalty = 10.0 ** rng.uniform(-2, 2, len(cells) + 2)
    penalty[[0, -1]] = 0
    plain, quick = (
        Design(passes, LOGISTIC, weight, np.zeros(600), margins) for margins in (None, Margins(cells, codes, weight))
    )
    sums = passes.sums(weight * y)
    thetas = [fit(design, sums, penalty, 1e-9).theta for design in (plain, quick)]
    np.testing.assert_allclose(thetas[1], thetas[0], atol=1e-7)
    hessian = fit(quick, sums, penalty, 1e-3).hessian
    units = np.eye(len(penalty))[:-1]
    nearly = np.array([hessian.nearly_inverse(unit) for unit in units])[:, :-1]
    assert np.linalg.eigvalsh((nearly + nearly.T) / 2).min() > 0  # else conjugate gradients may not end
    np.testing.assert_allclose(nearly, nearly.T, atol=1e-9 * abs(nearly).max())


def test_margins_save_passes():
    codes = np.stack([np.random.default_rng(0).integers(0, size, 6000) for size in (12, 15, 20)], 1).astype(np.int32)
    cells = find_cells(codes, (12, 15, 20), QUERIES[0], 1)
    y, weight, taken = np.random.default_rng(1).random(6000) < 0.2 + codes[:, 0] / 30, np.ones(6000), []
    for margins in (None, Margins(cells, codes, weight)):
        passes = Passes(cells.of_rows(codes), len(cells))
        curvature, calls = passes.curvature, []
        passes.curvature = lambda *given, calls=calls, curvature=curvature: calls.append(1) or curvature(*given)
        design = Design(passes, LOGISTIC, weight, np.zeros(6000), margins)
        fit(design, passes.sums(y.astype(float)), rule_of_thumb(np.zeros(len(cells) + 2)) / 10, 1e-3)
        taken.append(len(calls))
    assert taken[1] < taken[0] / 2


def noisy_problem(scale, seed):
    cells, n_cells, p = made(seed, 6000, (5, 8, 40, 300), published=1)
    design, rng = design_of(cells, n_cells), np.random.default_rng(seed)
    variance, y = np.full(n_cells + 2, scale**2), (rng.random(len(p)) < p).astype(float)
    sums = design.passes.sums(y)
    sums[1:-1] += scale * rng.normal(size=n_cells)
    ratio = variance / np.maximum(design.passes.sums(np.ones(len(y))) * y.mean() * (1 - y.mean()), 1e-9)
    ratio[[0, -1]] = 0
    noise = SumNoise(ratio, lambda rng: np.concatenate([[0], scale * rng.normal(size=n_cells), [0]]))
    query = np.concatenate([[-1], np.repeat(range(4), (5, 8, 40, 300)), [-1]])
    return design, sums, noise, (Groups("query", query, 2), Groups("one", np.minimum(query, 0), 4)), p


@pytest.mark.parametrize("scale", [0.5, 8.0])
@pytest.mark.parametrize("seed", [5, 6])
def test_penalty_chosen_without_labels_is_near_the_best(scale, seed):
    design, sums, noise, groups, p = noisy_problem(scale, seed)

    def loss(found):  # of fresh labels, in the mean
        return (found.partition - design.passes.sums(p) @ found.theta) / len(p)

    tried = [fit(design, sums, groups[1].spread(np.array([s]), noise.ratio), 1e-3) for s in 3.0 ** np.arange(9)]
    losses = [loss(one) for one in tried]
    rng = np.random.default_rng(0)
    chosen = choose_grouping(design, sums, noise, groups, draw_probes(design, noise, 4, rng), rng)
    assert loss(chosen.fit) < min(losses) + 0.005
    assert max(losses) > min(losses) + 0.015  # a choice that it could have missed


@pytest.mark.parametrize("total", [-50.0, 0.0, 2500.0])
def test_a_total_that_no_labels_have_still_has_a_fit(total):
    cells, n_cells, y = labelled()
    design = design_of(cells, n_cells)
    sums = design.passes.sums(y)
    sums[0] = total
    with np.errstate(all="raise", under="ignore"):
        found = fit(design, sums, rule_of_thumb(np.zeros_like(sums)), 1e-3)
    assert np.isfinite(found.theta).all()


def test_cells_of_few_rows_and_of_many_are_the_same():
    """Few are searched for, many looked up in a table; values that no published cell has are in neither."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, (5, 40), (500, 2)).astype(np.int32)
    cells = find_cells(codes[:300], (5, 40), [(0,), (1,), (0, 1)], 3)
    ids = cells.of_rows(codes)
    assert np.array_equal(ids, np.concatenate([cells.of_rows(codes[i : i + 1]) for i in range(len(codes))]))
    for q in range(3):
        assert (np.bincount(ids[:300, q], minlength=len(cells) + 2)[1:-1][cells.query_of == q] >= 3).all()
    assert (ids == len(cells) + 1).any()


def test_many_penalties_with_a_loss_that_no_labels_have_are_left_for_few(monkeypatch):
    """By query the bootstrap may look best, and the criterion on the sums themselves be below 0."""
    design, sums, noise, (queries, one), _ = noisy_problem(3.0, 5)
    groups = (one, queries)
    strong, weak = (
        fit(design, sums, one.spread(np.full(one.number, by), noise.ratio), 0.05)
        for one, by in zip(groups, (1e5, 10), strict=True)
    )
    fits = {groups[0].name: strong, groups[1].name: weak}
    probes = draw_probes(design, noise, 1, np.random.default_rng(0))
    for criterion, expected in ((0.2, groups[1]), (-0.1, groups[0])):

        def chosen(design, sums, noise, groups, probes, widened=1.0, least=criterion):
            return ChosenPenalty(groups, np.ones(groups.number), least if groups.number > 1 else 0.3, fits[groups.name])

        monkeypatch.setattr("llp.reports.penalty.choose", chosen)
        found = choose_grouping(design, sums, noise, groups, probes, np.random.default_rng(0))
        assert found.groups is expected
