"""Fits on a sample of the rows that a report counts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from llp.data.bags import Bags
from llp.data.cells import find_cells
from llp.data.train_split import Features, Labelled, TrainSplit
from llp.reports.families import LOGISTIC
from llp.reports.glm import Design, fit
from llp.reports.passes import Passes
from llp.reports.penalty import rule_of_thumb
from llp.reports.problem import of_sampling, problem_of
from llp.reports.sample import MANY, strengthen

SIZES, N = (6, 8, 10), 40_000


def population(seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.choice(size, N, p=rng.dirichlet(np.full(size, 2.0))) for size in SIZES], 1).astype(np.int32)
    effects = [rng.normal(0, 0.8, (a, b)) for a, b in ((6, 8), (8, 10))]
    p = expit(effects[0][codes[:, 0], codes[:, 1]] + effects[1][codes[:, 1], codes[:, 2]] - 1.5)
    cells = find_cells(codes, SIZES, [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)], 11)
    return codes, p, (rng.random(N) < p).astype(float), cells


def bags_of(codes, y, cells, rows):
    """The cells of rows as bags; every row is in one of each query."""
    ids = cells.of_rows(codes)[rows]
    of_cells = [np.flatnonzero((ids == j).any(1)) for j in range(1, len(cells) + 1)]
    sums = np.array([y[rows[one]].sum() for one in of_cells])
    return Bags(rows[np.concatenate(of_cells)], np.cumsum([0, *map(len, of_cells)]), sums, cells=cells)


def features(codes):
    return Features(codes, np.zeros((N, 0), np.float32), ["a", "b", "c"], [*SIZES])


def problem_of_sample(codes, y, cells, rows, scale, seed):
    """The problem of some rows beside a report of all, with Gaussian noise."""
    whole, rng = bags_of(codes, y, cells, np.arange(N)), np.random.default_rng(seed)
    bags = replace(
        bags_of(codes, y, cells, rows),
        label_sum=whole.label_sum + scale * rng.normal(size=len(whole)),
        noise_variance=np.full(len(whole), scale**2),
        counts=whole.sizes.astype(float),
    )
    return problem_of(TrainSplit(features(codes), bags, None, 1), cells, family=LOGISTIC, threads=1)


def test_a_sample_of_all_rows_has_the_sums_of_all():
    codes, _, y, cells = population(0)
    problem = problem_of_sample(codes, y, cells, np.arange(N), 0.0, 0)
    np.testing.assert_allclose(problem.sums, problem.design.passes.sums(y), atol=1e-6)
    assert (problem.design.weight == 1).all()


@pytest.mark.parametrize(("m", "many"), [(60, MANY), (300, MANY), (300, 0), (3000, MANY), (3000, 0)])
@pytest.mark.parametrize("scale", [0.0, 10.0])
def test_fit_on_a_sample_is_no_worse_than_a_constant(m, many, scale, monkeypatch):
    monkeypatch.setattr("llp.reports.sample.MANY", many)
    codes, p, y, cells = population(m)
    rows = np.sort(np.random.default_rng(m).choice(N, m, replace=False))
    problem = problem_of_sample(codes, y, cells, rows, scale, 1)

    def loss(factor):
        theta = fit(problem.design, problem.sums, factor * weak(problem.noise.ratio), 1e-3).theta
        z = theta[0] + theta[cells.of_rows(codes)].sum(1)
        return float((np.logaddexp(0, z) - p * z).mean())

    def weak(ratio):
        return rule_of_thumb(ratio) / 3

    mean = p.mean()
    constant = -(mean * np.log(mean) + (1 - mean) * np.log(1 - mean))
    losses = [loss(factor) for factor in 10 ** np.arange(0, 5.5, 0.5)]
    found = loss(strengthen(problem.halves, weak, 0))
    assert found < constant + 1e-3
    assert found < min(losses) + 0.02
    assert max(losses) > min(losses) + 0.01  # a choice that it could have missed


@pytest.mark.parametrize("seed", range(2))
def test_factor_of_many_rows_is_that_of_all_factors_in_fewer_fits(seed, monkeypatch):
    codes, _, y, cells = population(seed)
    rows = np.sort(np.random.default_rng(seed).choice(N, 8000, replace=False))
    halves, fits = problem_of_sample(codes, y, cells, rows, 10.0, seed).halves, []
    monkeypatch.setattr("llp.reports.sample.fit", lambda *given: fits.append(given) or fit(*given))
    found = []
    for strength in (0.01, 1.0, 30.0):  # the best factor lies above, at and below 10
        for many in (MANY, 0):
            monkeypatch.setattr("llp.reports.sample.MANY", many)
            found.append((strengthen(halves, lambda ratio, of=strength: of * rule_of_thumb(ratio), 0), len(fits)))
            fits.clear()
    for (factor, n_all), (of_many, n_few) in zip(found[::2], found[1::2], strict=True):
        assert of_many == factor
        assert n_few < n_all


def test_what_sampling_adds_to_the_sums_is_what_further_samples_scatter():
    codes, p, _, cells = population(2)
    ids, m, w = cells.of_rows(codes), 4000, N / 4000
    scores = np.log(p / (1 - p))
    in_all = Passes(ids, len(cells))
    counts = np.maximum(in_all.sums(np.ones(N)), 1)
    off, variances, drawn = [], [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rows = rng.choice(N, m, replace=False)
        passes = Passes(ids[rows], len(cells))
        off.append(w * passes.sums(p[rows]) - in_all.sums(p) * w * passes.sums(np.ones(m)) / counts)
        if seed < 20:
            variance, draw = of_sampling(Design(passes, LOGISTIC, np.full(m, w), np.zeros(m)), scores[rows])
            variances.append(variance)
            drawn += [draw(rng) for _ in range(20)]
    for cells_of in (slice(0, 1), *(np.flatnonzero(cells.query_of == q) + 1 for q in range(6))):
        expected = np.mean(np.square(off), 0)[cells_of].sum()
        assert np.mean(variances, 0)[cells_of].sum() == pytest.approx(expected, rel=0.25)
        assert np.mean(np.square(drawn), 0)[cells_of].sum() == pytest.approx(expected, rel=0.25)


def test_a_row_that_stands_for_no_other_adds_no_sampling():
    codes, p, _, cells = population(3)
    design = Design(Passes(cells.of_rows(codes), len(cells)), LOGISTIC, np.full(N, 0.9), np.zeros(N))
    variance, draw = of_sampling(design, p)
    assert not variance.any()
    assert not draw(np.random.default_rng(0)).any()


def test_labelled_rows_are_fitted_as_rows_with_their_own_sums():
    codes, _, y, cells = population(1)
    some, rest = np.arange(500), np.arange(500, N)
    joined, whole = (
        problem_of(TrainSplit(features(codes), bags, None, 1, labelled=labelled), cells, family=LOGISTIC, threads=1)
        for bags, labelled in (
            (bags_of(codes, y, cells, rest), Labelled(some, y[some])),
            (bags_of(codes, y, cells, np.arange(N)), None),
        )
    )
    penalty = rule_of_thumb(0 * whole.sums)
    thetas = [fit(one.design, one.sums, penalty, 1e-10).theta for one in (joined, whole)]
    np.testing.assert_allclose(thetas[0], thetas[1], atol=1e-7)
