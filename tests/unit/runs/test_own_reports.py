"""Runs on reports from files: they score as the estimator does, their weights can be read, new rows are scored."""

import numpy as np
import polars as pl
import pytest

from llp import LLPClassifier
from llp.analyze import analyze
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.scoring.export import card, export
from tests.helpers.composed import check_config
from tests.helpers.own_files import Home, prepare_files

QUERIES = (("month",), ("carrier",), ("month", "carrier"))


def rows(n, seed):
    rng = np.random.default_rng(seed)
    month, carrier = rng.integers(1, 7, n), rng.integers(0, 4, n)
    late = rng.random(n) < 1 / (1 + np.exp(1 - month / 3 - (carrier == 2)))
    return pl.DataFrame(
        {"month": month, "carrier": np.array(["UA", "B6", "AA", "-9"])[carrier], "late": late.astype(int)}
    )


TRAIN, TEST = rows(900, 0), rows(400, 1)


def cells(query, frame=TRAIN):
    return frame.group_by(query, maintain_order=True).agg(
        label_sum=pl.col("late").sum().cast(pl.Float64), count=pl.len()
    )


class ReportHome(Home):
    def __init__(self, folder):
        super().__init__(folder)
        TRAIN.drop("late").write_csv(folder / "rows.csv")
        TEST.write_csv(folder / "test.csv")
        for query in QUERIES:
            cells(query).write_csv(folder / f"{'_'.join(query)}.csv")

    def prepare(self, *options, files="rows.csv", **given):
        reports = ",".join(f"'{self.folder}/{'_'.join(query)}.csv'" for query in QUERIES)
        tested = {"label": "late", "test_files": f"'{self.folder}/test.csv'"} | given
        return super().prepare(files, f"reports=[{reports}]", *options, **tested)

    def config(self, dataset, *words, command="train"):
        given = ["method=cell_glm", "save_model=true"] if command == "train" else []
        return super().config(dataset, *given, *words, command=command)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    for home in ReportHome.of(tmp_path_factory):
        home.prepare(name="exact")
        yield home


def test_files_and_the_estimator_score_alike_and_new_rows_need_no_label(home):
    _, run = home.train("exact", "method.penalty=2")
    new = TEST.drop("late").with_columns(carrier=pl.col("carrier").replace("B6", "ZZ"))
    new.write_csv(home.folder / "new.csv")
    found = home.scores([run], [home.folder / "new.csv"])["probability"]
    fitted = LLPClassifier("cell_glm", overrides=["method.penalty=2"])
    fitted.fit(TRAIN.drop("late"), reports={query: cells(query) for query in QUERIES})
    np.testing.assert_allclose(found, fitted.predict_proba(new)[:, 1], atol=1e-5)
    assert found.max() - found.min() > 0.3


def test_labels_of_rows_are_known_nowhere(home):
    record, run = home.train("exact", "method.penalty=2")
    assert np.isnan(home.runs(run).table.label[: len(TRAIN)]).all()
    assert (record.n_train_instances, record.metric.name) == (900, "auc")


def test_export_has_a_table_of_weights_that_gives_the_scores(home):
    home.prepare("noise_sd=2", name="noisy")
    _, run = home.train("noisy", "method.penalty=2")
    assert export(home.runs(run), home.folder / "export") <= 1e-6
    weights = pl.read_csv(home.folder / "export" / "weights.csv")
    assert weights.columns == ["query", "values", "weight", "sum", "noise_sd"]
    by_name = dict(weights.select("values", "weight").iter_rows())
    expected = [
        by_name["intercept"] + by_name[f"month={m}"] + by_name[f"carrier={c}"] + by_name[f"month={m} carrier={c}"]
        for m, c in TEST.select("month", "carrier").iter_rows()
    ]
    np.testing.assert_allclose(home.scores([run], [home.folder / "test.csv"])["log_odds"], expected, atol=1e-5)
    stated = dict(weights.filter(pl.col("query") == "month").select("values", "sum").iter_rows())
    assert stated == {f"month={m}": s for m, s, _ in cells(("month",)).iter_rows()}
    assert weights["noise_sd"].to_list() == [None] + [2.0] * (len(weights) - 1)


def test_counts_of_exposed_rows_from_files_are_scored_and_exported(home):
    rng = np.random.default_rng(5)
    days = rng.uniform(1, 9, len(TRAIN)).round(2)
    visits = rng.poisson(days * np.exp(TRAIN["month"].to_numpy() / 3 - 2))
    seen = TRAIN.drop("late").with_columns(days=pl.Series(days))
    frame = seen.with_columns(visits=pl.Series(visits))
    seen.write_csv(home.folder / "seen.csv")
    frame.write_csv(home.folder / "visits.csv")
    for query in (("month",), ("carrier",)):
        frame.group_by(query).agg(label_sum=pl.col("visits").sum(), count=pl.len()).write_csv(
            home.folder / f"{query[0]}_visits.csv"
        )
    reports = ",".join(f"'{home.folder}/{name}_visits.csv'" for name in ("month", "carrier"))
    tested = {"label": "visits", "label_kind": "real", "test_files": f"'{home.folder}/visits.csv'"}
    prepare_files(home.data, home.folder / "seen.csv", f"reports=[{reports}]", name="counts", **tested)
    record, run = home.train("counts", "method.family=poisson", "method.exposure=days")
    assert export(home.runs(run), home.folder / "export_counts") <= 1e-5
    found = home.scores([run], [home.folder / "seen.csv"])["prediction"].to_numpy()
    assert np.corrcoef(found, visits)[0, 1] > 0.7
    assert found.sum() == pytest.approx(visits.sum(), rel=1e-3)
    assert record.measures["mse"] == pytest.approx(np.square(found - visits).mean(), rel=1e-4)


def noisy_cells(query, frame, sd, seed):
    rng = np.random.default_rng(seed)
    found, noise = cells(query, frame), rng.normal(0, sd, (2, cells(query, frame).height))
    shifted = {name: pl.col(name) + pl.Series(one) for name, one in zip(("label_sum", "count"), noise, strict=True)}
    return found.with_columns(**shifted, noise_sd=pl.lit(float(sd)))


@pytest.mark.parametrize("labelled", [False, True])
def test_sample_of_a_reports_rows_scores_nearly_as_all_of_them_do(home, labelled):
    everything = rows(20_000, 7)
    for query in QUERIES:
        noisy_cells(query, everything, 5, len(query)).write_csv(home.folder / f"{'_'.join(query)}.csv")
    everything.head(600).drop("late").write_csv(home.folder / "rows.csv")
    rows(200, 8).write_csv(home.folder / "labelled.csv")
    given = {"labelled": f"'{home.folder}/labelled.csv'"} if labelled else {}
    home.prepare("rows=unknown", name=f"sample_{labelled}", **given)
    record, run = home.train(f"sample_{labelled}")
    best = LLPClassifier("cell_glm").fit(everything.drop("late"), reports={q: cells(q, everything) for q in QUERIES})
    expected = best.predict_proba(TEST.drop("late"))[:, 1]
    found = home.scores([run], [home.folder / "test.csv"])["probability"].to_numpy()
    assert np.abs(found - expected).mean() < 0.03
    assert record.measures["log_loss"] < record.measures["constant_log_loss"] - 0.02
    assert record.facts["report_rows"] == pytest.approx(20_000, rel=0.01)
    assert record.facts["sample"] == 600
    assert record.facts.get("labelled") == (200 if labelled else None)
    assert record.facts["noise_sd"] == 5
    assert "The sums came with noise of standard deviation 5," in card(record, run_table(home, record))
    told = record.facts.get("by_query")
    assert told is None if labelled else [one["columns"] for one in told] == [list(query) for query in QUERIES]
    assert labelled or all(one["coverage"] > 0.8 and one["noise_sd"] == pytest.approx(5) for one in told)


def test_labels_alone_of_a_report_that_says_little_move_the_scores(home):
    flat = cells(("month",)).with_columns(label_sum=pl.lit(0.0), noise_sd=pl.lit(500.0))
    flat.write_csv(home.folder / "month.csv")
    for query in QUERIES[1:]:
        cells(query).with_columns(noise_sd=500.0).write_csv(home.folder / f"{'_'.join(query)}.csv")
    TRAIN.drop("late").write_csv(home.folder / "rows.csv")
    rows(3000, 9).write_csv(home.folder / "labelled.csv")
    home.prepare(name="little")
    home.prepare(name="much", labelled=f"'{home.folder}/labelled.csv'")
    little, much = (home.train(name, "method.penalty=5")[0].metric.best for name in ("little", "much"))
    assert much > little
    assert much > 0.65


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Tables without a labelled row: of all rows, and of 300 of them."""
    for home in ReportHome.of(tmp_path_factory):
        home.prepare(name="all", label="null", test_files="null")
        TRAIN.drop("late").sample(300, seed=1).write_csv(home.folder / "part.csv")
        home.prepare("rows=unknown", files="part.csv", name="part", label="null", test_files="null")
        yield home


def run_table(home, record):
    return InstanceTable.open(home.data / record.dataset)


def test_a_card_says_that_measures_are_of_the_cells_that_were_fitted(alone):
    record, _ = alone.train("all", "protocol=holdout")
    told = card(record, run_table(alone, record))
    assert "On the sums of the cells that were fitted, no labelled row: of other rows they say nothing." in told
    assert "constant" not in told


def test_a_sample_of_one_row_is_refused(alone):
    TRAIN.drop("late").head(1).write_csv(alone.folder / "one.csv")
    alone.prepare("rows=unknown", files="one.csv", name="one", label="null", test_files="null")
    with pytest.raises(InputError, match="Invalid rows=unknown: the sample has 1 row, expected at least 2"):
        alone.train("one", "protocol=holdout")


@pytest.mark.parametrize(
    ("table", "wrong", "said"),
    [
        ("all", "protocol=paper", "protocol=holdout"),
        ("all", "fold=1", "as a whole, expected fold=0"),
        ("part", "method=dllp_bce", "the sums are of more rows than the sample"),
    ],
)
def test_a_report_alone_has_one_protocol_and_one_fold_and_its_sample_no_bags(alone, table, wrong, said):
    with pytest.raises(InputError, match=rf"^Invalid {wrong}: .*{said}"):
        alone.train(table, "protocol=holdout", wrong)


@pytest.mark.parametrize("table", ["all", "part"])
@pytest.mark.parametrize("method", ["cell_glm", "distilled"])
def test_a_report_alone_is_measured_by_its_cells(alone, table, method):
    record, _ = alone.train(table, f"method={method}", "protocol=holdout", "trainer.max_epochs=2")
    assert record.measures["bag_rmse"] < 0.1 or (table, method) != ("all", "cell_glm")
    assert record.measures["bag_coverage"] > 0.7
    assert record.measures["mean_prediction_over_mean_label"] == pytest.approx(1, abs=0.25)


def test_analysis_needs_labels_of_rows(alone):
    with pytest.raises(InputError, match="Invalid dataset=all: its rows have no labels"):
        analyze(check_config(alone.config("all", command="analyze"), "analyze"))


def test_analysis_says_which_queries_carry_what(alone):
    rows(3000, 3).with_columns(side=pl.Series(np.arange(3000) % 5)).write_csv(alone.folder / "sides.csv")
    files = (alone.data, alone.folder / "sides.csv")
    prepare_files(*files, name="labelled", label="late", categorical="[month,side]")
    words = ["dataset.key_columns=[month,carrier,side]", "grouping_key=report"]
    config, matrix = (
        alone.config("labelled", *words, *more, command="analyze") for more in ((), ["matrix=[random_64]"])
    )
    found = pl.read_csv(analyze(check_config(config, "analyze")) / "queries.csv")
    assert found["drop"].is_sorted(descending=True)
    assert found["query"].to_list()[:2] == ["month", "carrier"]
    assert found["drop"][1] > 0.005
    assert found["drop"][2:].abs().max() < 2e-3  # these say what the two do not, that is nothing
    assert len(found) == 6
    with pytest.raises(InputError, match="Invalid grouping_key='report': expected another for a matrix"):
        analyze(check_config(matrix, "analyze"))
