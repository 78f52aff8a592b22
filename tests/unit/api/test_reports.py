"""Estimators that learn from reports: golden weights, what noise and unknown values do, wrong reports."""

import json
import logging

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from llp import LLPClassifier, LLPRegressor
from llp.errors import InputError
from tests.helpers.golden_report import GOLDEN

ROWS = pl.DataFrame(GOLDEN["rows"], schema=GOLDEN["columns"], orient="row")
LABEL = np.array(GOLDEN["y"])


def report_of(rows, label, queries, **noise):
    """The tables of a report of labelled rows."""
    tables = {}
    for query in queries:
        cells = rows.with_columns(label=label).group_by(query, maintain_order=True)
        table = cells.agg(label_sum=pl.col("label").sum().cast(pl.Float64), count=pl.len())
        tables[query] = table.with_columns(**{name: pl.lit(value) for name, value in noise.items()})
    return tables


GOLDEN_REPORT = report_of(ROWS, LABEL, [tuple(query) for query in GOLDEN["queries"]])


def fitted(reports=GOLDEN_REPORT, rows=ROWS, penalty=2.0, kind=LLPClassifier):
    return kind("cell_glm", overrides=[f"method.penalty={penalty}"]).fit(rows, reports=reports)


def scores_of(golden):
    """The rows' scores by golden weights."""
    place = {(*cell["query"], *cell["values"]): j for j, cell in enumerate(GOLDEN["cells"])}
    cells = (
        [place[*query, *(row[name] for name in query)] for query in GOLDEN["queries"]] for row in ROWS.rows(named=True)
    )
    return [golden["intercept"] + sum(golden["theta"][j] for j in row) for row in cells]


@pytest.mark.parametrize("golden", GOLDEN["logistic"], ids=lambda one: str(one["lambda"]))
def test_probabilities_are_those_of_the_golden_weights(golden):
    found = fitted(penalty=golden["lambda"])
    assert found.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(found.predict_proba(ROWS)[:, 1], expit(scores_of(golden)), atol=2e-4)


def test_real_labels():
    label = np.array(GOLDEN["y_real"])
    report = report_of(ROWS, label, [tuple(query) for query in GOLDEN["queries"]])
    found = fitted(report, kind=LLPRegressor)
    assert np.square(found.predict(ROWS) - label).mean() == pytest.approx(GOLDEN["ridge"]["mse_on_rows"], abs=1e-4)


EXPOSED = ROWS.with_columns(days=pl.Series(GOLDEN["exposure"]))
COUNTS = report_of(ROWS, np.array(GOLDEN["y_count"]), [tuple(query) for query in GOLDEN["queries"]])


def counting(*words, reports=COUNTS, rows=EXPOSED):
    overrides = ["method.family=poisson", "method.exposure=days", *words]
    return LLPRegressor("cell_glm", overrides=overrides).fit(rows, reports=reports)


def test_counts_with_an_exposure_are_those_of_the_golden_weights():
    golden = GOLDEN["poisson"]
    expected = np.exp(scores_of(golden)) * GOLDEN["exposure"]
    np.testing.assert_allclose(counting(f"method.penalty={golden['lambda']}").predict(EXPOSED), expected, rtol=2e-3)
    doubled = EXPOSED.with_columns(pl.col("days") * 2)
    found = counting("method.penalty=auto")
    np.testing.assert_allclose(found.predict(doubled), 2 * found.predict(EXPOSED), rtol=1e-5)
    assert found.record_.facts["penalty"] in ("order", "query")
    assert found.predict(EXPOSED.with_columns(days=pl.lit(0.0))).max() < 1e-5
    with pytest.raises(InputError, match=r"a row has the exposure -2: expected numbers >= 0 in the column 'days'"):
        found.predict(EXPOSED.with_columns(days=pl.lit(-2.0)))


@pytest.mark.parametrize(
    ("words", "given", "problem"),
    [
        (
            ["method.exposure=a"],
            {},
            "Invalid method.exposure='a': expected a numeric column that is standardised: days",
        ),
        (["method.family=auto"], {}, "Invalid method.exposure='days': expected null, or method.family=poisson beside"),
        ([], {"rows": EXPOSED.with_columns(pl.col("days") - 1.0)}, "a column of numbers > 0; its least is"),
        ([], {"rows": EXPOSED.with_columns(pl.col("days") - pl.col("days").min())}, "a column of numbers > 0; its"),
        (
            [],
            {"reports": {q: table.with_columns(label_sum=-pl.col("label_sum")) for q, table in COUNTS.items()}},
            "a sum of labels is below 0",
        ),
    ],
)
def test_wrong_counts(words, given, problem):
    with pytest.raises(ValueError, match="Invalid method") as error:
        counting(*words, **given)
    assert problem in str(error.value)


def test_labels_of_0_and_1_are_no_counts():
    with pytest.raises(ValueError, match=r"Invalid method.family='poisson': expected auto for labels 0 and 1"):
        LLPClassifier("cell_glm", overrides=["method.family=poisson"]).fit(ROWS, reports=GOLDEN_REPORT)


def test_order_of_rows_tables_and_columns_and_the_form_of_values_change_nothing():
    first = fitted().predict_proba(ROWS)
    shuffled = {
        query[::-1]: table.sample(fraction=1, shuffle=True, seed=3).with_columns(pl.col(query).cast(pl.String))
        for query, table in reversed(GOLDEN_REPORT.items())
    }
    order = np.random.default_rng(0).permutation(len(ROWS))
    found = fitted(shuffled, ROWS[order].cast(pl.Float64)).predict_proba(ROWS)
    np.testing.assert_allclose(found, first, atol=1e-6)


def test_cells_and_values_that_are_not_published_add_nothing(caplog):
    lacking = {"a": GOLDEN_REPORT["a",].filter(pl.col("a") != 0), "b": GOLDEN_REPORT["b",]}
    lacking["b"] = pl.concat(
        [lacking["b"], pl.DataFrame({"b": [99], "label_sum": [1.0], "count": [3]}).cast(lacking["b"].schema)]
    )
    with caplog.at_level(logging.WARNING):
        found = fitted(lacking)
    assert "1 cells of the report hold no row of the table" in caplog.text
    new = pl.DataFrame({"a": [0, 77, 1], "b": [1, 1, 1], "c": [0, 0, 0]})
    scores = found.decision_function(new)
    assert scores[0] == scores[1] != scores[2]
    assert found.record_.facts["cells"] == 6


def test_noise_strengthens_the_penalty_and_the_record_says_what_was_chosen():
    quiet, loud = (report_of(ROWS, LABEL, [("a",), ("a", "b")], noise_sd=sd) for sd in (0.01, 20.0))
    spread = [np.ptp(fitted(one).predict_proba(ROWS)[:, 1]) for one in (quiet, loud)]
    assert spread[1] < spread[0] / 3
    facts = fitted(quiet, penalty="auto").record_.facts
    assert facts["queries"] == ["a", "a_b"]
    assert facts["penalty"] in ("order", "query")
    assert len(facts["strengths"]) == 2
    json.dumps(facts)


A = GOLDEN_REPORT["a",]


@pytest.mark.parametrize(
    ("reports", "problem"),
    [
        (A, "it is a DataFrame; expected a mapping of queries to frames, such as reports={("),
        ({}, "expected a mapping"),
        ({("a", "z"): A}, "'z' is no column of X; expected some of a, b, c"),
        ({("a", "b"): A}, "it has the columns a, label_sum, count; expected a, b, label_sum"),
        ({("a", "a"): A}, "expected a, label_sum"),
        ({"a": A.drop("label_sum")}, "expected a, label_sum"),
        ({("a", "b"): GOLDEN_REPORT["a", "b"], ("b", "a"): GOLDEN_REPORT["a", "b"]}, "two tables have the same colu"),
        ({"a": pl.concat([A, A[:1]])}, "the cell a=0 stands twice; expected"),
        ({"a": A.with_columns(label_sum=pl.lit(None, pl.Float64))}, "label_sum of the cell a=0 is None"),
        ({"a": A.with_columns(label_sum=pl.lit(float("nan")))}, "label_sum of the cell a=0 is nan"),
        ({"a": A.with_columns(label_sum=pl.lit("many"))}, "label_sum of the cell a=0 is 'many'"),
        ({"a": A.with_columns(count=pl.col("count") + 1)}, "the cell a=0 has count 24 and 23 rows (and 2 more"),
        ({"a": A.with_columns(label_sum=pl.col("label_sum") + 50)}, "expected labels of 0 and 1, or a column noise_sd"),
        ({"a": A.with_columns(noise=3.0)}, "noise; expected"),
        *(({name: table}, "Invalid reports") for name, table in ((0, pl.DataFrame()), ("a", None), ("a", A.head(0)))),
    ],
)
def test_wrong_reports(reports, problem):
    with pytest.raises(ValueError, match="Invalid reports") as error:
        fitted(reports)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "beside", "problem"),
    [
        ({}, {"y": LABEL}, "expected no y="),
        ({"epsilon": 1.0}, {}, "Invalid epsilon=1.0: expected None"),
        ({"method": "dllp_bce"}, {}, "expected method=cell_glm, which needs none"),
        ({"model": "mlp"}, {}, "method=cell_glm has its own, model=cell_weights"),
    ],
)
def test_what_goes_with_no_report(options, beside, problem):
    with pytest.raises(ValueError, match=r"Invalid|reports=") as error:
        LLPClassifier(**{"method": "cell_glm"} | options).fit(ROWS, reports=GOLDEN_REPORT, **beside)
    assert problem in str(error.value)


def test_a_sample_of_the_rows_is_fitted_as_one(caplog):
    some = ROWS[::2]
    with pytest.raises(ValueError, match=r"rows \(and \d+ more\); expected .* or rows=unknown where they are a sample"):
        LLPClassifier("cell_glm").fit(some, reports=GOLDEN_REPORT)
    found = LLPClassifier("cell_glm").fit(some, reports=GOLDEN_REPORT, rows="unknown")
    assert found.record_.facts["report_rows"] == len(ROWS)
    assert found.record_.facts["sample"] == len(some)
    assert found.predict_proba(ROWS)[:, 1].mean() == pytest.approx(LABEL.mean(), abs=0.1)
    lacking = {"a": A.drop("count")}
    with pytest.raises(ValueError, match="Invalid rows=unknown: the cell a=0 has no count"):
        LLPClassifier("cell_glm").fit(some, reports=lacking, rows="unknown")


def test_labelled_rows_beside_a_report_are_fitted_as_rows_that_it_counts():
    singles = [("a",), ("b",), ("c",)]
    part, whole = (report_of(ROWS[:n], LABEL[:n], singles) for n in (40, 60))
    known = {"X_labelled": ROWS[40:], "y_labelled": LABEL[40:] == 1}
    beside = LLPClassifier("cell_glm", overrides=["method.penalty=2"]).fit(ROWS[:40], reports=part, **known)
    assert beside.record_.facts["labelled"] == 20
    np.testing.assert_allclose(beside.predict_proba(ROWS), fitted(whole).predict_proba(ROWS), atol=1e-3)


def test_a_sample_too_small_to_hear_the_labelled_rows_is_said(caplog):
    many = pl.concat([ROWS] * 20)
    report, known = report_of(many, np.tile(LABEL, 20), [("a", "b"), ("c",)]), {"X_labelled": ROWS, "y_labelled": LABEL}
    shares = []
    for sample in (ROWS[:4], many[:600]):
        with caplog.at_level(logging.WARNING):
            found = LLPClassifier("cell_glm").fit(sample, reports=report, rows="unknown", **known)
        shares.append(found.record_.facts["labelled_left_out"])
        assert caplog.text.count("of the cells of the 60 labelled rows have fewer than 5 of the sample's 4 rows") == 1
    assert shares == [1, 0]


@pytest.mark.parametrize(
    ("beside", "problem"),
    [
        ({"rows": "known"}, "Invalid rows='known': expected 'unknown'"),
        ({"X_labelled": ROWS}, "expected both or none"),
        ({"y_labelled": LABEL}, "expected both or none"),
        ({"X_labelled": ROWS, "y_labelled": LABEL[:5]}, "Invalid y_labelled='5 labels': expected 60 labels 0 and 1"),
        ({"X_labelled": ROWS, "y_labelled": LABEL + 1}, "Invalid y_labelled=2.0: expected 60 labels 0 and 1"),
        ({"X_labelled": ROWS, "y_labelled": ["no"] * 60}, "Invalid y_labelled='no': expected 60 labels 0 and 1"),
        ({"X_labelled": ROWS.select("b", "a"), "y_labelled": LABEL}, "feature names should match"),
        ({"X_labelled": ROWS, "y_labelled": LABEL, "reports": None, "y": LABEL}, "go with reports="),
        ({"rows": "unknown", "reports": None, "y": LABEL}, "go with reports="),
    ],
)
def test_wrong_rows_beside_a_report(beside, problem):
    with pytest.raises(ValueError, match=r"expected|feature names") as error:
        LLPClassifier("cell_glm").fit(ROWS, **{"reports": GOLDEN_REPORT} | beside)
    assert problem in str(error.value)


def test_added_noise_is_added_to_what_the_report_states():
    noisy = {query: table.with_columns(noise_sd=pl.lit(30.0)) for query, table in GOLDEN_REPORT.items()}
    little = ["method.penalty=rule", "noise=laplace", "noise.epsilon=1000"]
    stated = LLPClassifier("cell_glm", overrides=little[:1]).fit(ROWS, reports=noisy).predict_proba(ROWS)
    more = LLPClassifier("cell_glm", overrides=little).fit(ROWS, reports=noisy).predict_proba(ROWS)
    np.testing.assert_allclose(more, stated, atol=0.01)


def test_numbers_alone_have_no_cells():
    X = ROWS.select(pl.first().cast(pl.Float64) + 0.5)
    with pytest.raises(ValueError, match=r"Invalid method=cell_glm: it has a weight for each cell"):
        LLPClassifier("cell_glm", numeric_as="standardised").fit(X, LABEL.astype(int), bags=np.arange(len(X)) // 4)


@pytest.mark.parametrize("report", [{(): pl.DataFrame({"label_sum": [38.0]})}, {"a": GOLDEN_REPORT["a",].head(1)}])
def test_a_report_of_a_single_cell_is_fitted_and_measured_by_it(report):
    found = fitted(report, penalty=1e-6)
    assert np.ptp(found.predict_proba(ROWS)[:, 1]) == pytest.approx(0, abs=1e-3) if () in report else True
    assert found.record_.measures["bag_coverage"] == 1


def test_exact_sums_of_0_and_1_are_whole():
    broken = {"a": A.with_columns(label_sum=pl.col("label_sum") + 0.25)}
    with pytest.raises(ValueError, match="expected whole sums of labels 0 and 1, or a column noise_sd"):
        fitted(broken)
    fitted({"a": broken["a"].with_columns(noise_sd=0.5)})


def test_rare_values_of_a_query_keep_their_cells():
    def scores(**options):
        found = LLPClassifier("cell_glm", overrides=["method.penalty=2"], **options).fit(ROWS, reports=GOLDEN_REPORT)
        return found.decision_function(ROWS)

    np.testing.assert_array_equal(scores(rare_threshold=40), scores())
