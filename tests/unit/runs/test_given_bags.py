"""Training on given bags: the same from aggregates alone, and measured by bags where no row has a label."""

import numpy as np
import polars as pl
import pytest

from llp.config.grouping_keys import options
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.results.collect import collect
from llp.results.figures.bags import bag_calibration
from llp.results.summary import summarize
from llp.results.variants import name_variants
from llp.runs.identity import Run
from llp.runs.record import RunRecord
from tests.helpers.composed import run_one
from tests.helpers.cutting import CutOffError
from tests.helpers.own_files import Home

SHORT = ("trainer.max_epochs=3", "hardware.accelerator=cpu", "protocol=holdout", "fold=0")


def rows(n, seed):
    rng = np.random.default_rng(seed)
    price, shop = rng.normal(size=n).round(3), rng.integers(0, 5, n)
    return pl.DataFrame(
        {
            "campaign": [f"c{i:02}" for i in rng.integers(0, 40, n) // (1 + (price > 0))],
            "shop": [f"shop {i}" for i in shop],
            "price": price,
            "bought": (price + shop / 4 + rng.normal(size=n) > 0.5).astype(int),
        }
    )


class BagHome(Home):
    """One dataset with labels of rows, and the same with labels of bags alone, beside one of noisy sums."""

    def __init__(self, folder):
        super().__init__(folder)
        train, test = rows(1200, 0), rows(500, 1).drop("campaign")
        train.write_csv(folder / "labelled.csv")
        train.drop("bought").write_csv(folder / "unlabelled.csv")
        test.write_csv(folder / "test.csv")
        bags = train.group_by("campaign").agg(pl.col("bought").sum().alias("label_sum")).sort("campaign")
        bags.write_csv(folder / "bags.csv")
        noise = np.random.default_rng(0).laplace(scale=8, size=bags.height)
        bags.with_columns(label_sum=pl.col("label_sum") + noise).write_csv(folder / "noisy.csv")
        several = pl.col("campaign") + pl.when(pl.col("price") > 1).then(pl.lit("|dear")).otherwise(pl.lit(""))
        train.with_columns(campaign=several).write_csv(folder / "several.csv")
        tested = {"label": "bought", "test_files": f"'{folder}/test.csv'", "bag_column": "campaign"}
        aggregates = {"bag_column": "campaign", "label_kind": "binary"}
        self.prepare("labelled.csv", name="labelled", **tested)
        self.prepare("unlabelled.csv", name="aggregates", bags=f"'{folder}/bags.csv'", **tested)
        self.prepare("unlabelled.csv", name="alone", bags=f"'{folder}/bags.csv'", **aggregates)
        self.prepare("several.csv", "overlap=true", name="several", **tested)
        self.prepare("unlabelled.csv", name="noisy", bags=f"'{folder}/noisy.csv'", epsilon="0.125", **aggregates)

    def run(self, dataset, *words):
        return run_one(self.config(dataset, *SHORT, *words))


def cut_off(*args, **kwargs):
    raise CutOffError


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    yield from BagHome.of(tmp_path_factory)


@pytest.mark.parametrize("method", ["dllp_bce", "upm"])
def test_aggregates_alone_train_what_labels_of_rows_train(home, method):
    labelled, aggregates = (home.run(name, f"method={method}") for name in ("labelled", "aggregates"))
    assert labelled.grouping_key == aggregates.grouping_key == "given"
    assert labelled.n_test_instances == aggregates.n_test_instances == 500
    assert labelled.metric.name == aggregates.metric.name == "auc"
    assert labelled.measures == aggregates.measures
    assert labelled.measures["auc"] > 0.5


def test_bags_measure_a_run_without_labelled_rows(home):
    record = home.run("alone", "trainer.max_epochs=12", "dataset.learning_rate=0.01")
    assert record.metric.name == "bag_log_loss"
    assert record.metric.mode == "min"
    assert record.n_test_instances == 0
    assert 0.3 < record.metric.best < 0.75
    assert record.measures["bag_rmse"] == pytest.approx(record.measures["bag_mse"] ** 0.5)
    assert record.measures["bag_coverage"] > 0.7
    everything = home.run("alone", "grouping_key.n_folds=1")
    assert everything.n_train_bags == 36  # of 40; four are held out for the epoch
    assert everything.measures["bag_log_loss"] > 0


@pytest.mark.parametrize("method", [name for name in options("method") if not name.startswith("instance_")])
def test_every_method_takes_noisy_sums(home, method):
    """Negative ones and ones above the size; what is not finite would end the run."""
    sums = pl.read_parquet(home.data / "noisy" / "bags.parquet")
    assert (sums["label_sum"] < 0).any()
    assert (sums["label_sum"] > sums["size"]).any()
    model = ["model=linear"] if method == "mean_map" else []
    record = home.run("noisy", f"method={method}", *model, "trainer.max_epochs=1")
    assert np.isfinite(record.metric.best)


def test_what_needs_labels_of_rows_is_refused(home):
    for words, message in (
        (
            ["method=instance_bce"],
            r"^Invalid method=instance_bce: .* labels of bags alone; expected .* method=dllp_bce$",
        ),
        (["protocol=paper"], r"^Invalid protocol=paper: .* expected protocol=holdout$"),
        (["protocol=paper", "grouping_key.n_folds=1"], r"^Invalid protocol=paper: .* expected protocol=holdout$"),
        (["grouping_key=random_64"], r"^Invalid grouping_key=random_64: .* expected grouping_key=given$"),
        (["noise=randomised_response"], r"^Invalid noise=randomised_response: it flips labels of rows"),
    ):
        before = sorted(home.folder.rglob("*"))
        with pytest.raises(InputError, match=message):
            home.run("alone", *words)
        assert sorted(home.folder.rglob("*")) == before, "work was begun"


def test_bags_that_overlap_are_trained_on(home):
    record = home.run("several")
    assert record.refit.bags == home.run("labelled").refit.bags + 1
    assert record.refit.instances > home.run("labelled").refit.instances == 1200
    assert record.measures["auc"] > 0.5


def test_noise_on_bags_that_overlap_is_scaled_to_the_most_bags_of_a_row(home, caplog):
    caplog.set_level("INFO", "llp")
    for words, sensitivity, scale in (
        (["noise=laplace"], 2.0, 2.0),
        (["noise=gaussian"], 2**0.5, 2**0.5 * 4.2248),
    ):
        record = home.run("several", *words)
        promise = record.noise
        assert (promise.epsilon, promise.bags_of_a_row) == (1.0, 2)
        assert promise.sensitivity == pytest.approx(sensitivity)
        assert promise.scale == pytest.approx(scale, rel=1e-3)
        assert "promises epsilon=1" in caplog.text
        assert "a row being in 2 at most" in caplog.text
    stated = home.run("noisy").noise  # as the files say
    assert (stated.scale, stated.epsilon) == (8, 0.125)
    assert stated.sums_outside > 0


def test_bags_that_share_a_row_with_a_held_out_one_are_not_trained_on_and_upm_does_not_pick(home, monkeypatch, caplog):
    monkeypatch.setattr("llp.training.selection.ENOUGH_BAGS", 1)
    caplog.set_level("INFO", "llp")
    record = home.run("several", "seed=5")
    assert record.metric.picked_by == "held_out_loss"
    assert home.run("labelled", "seed=5").metric.picked_by == "held_out_upm"
    assert record.n_left_out_bags >= 1
    assert record.n_train_bags + record.n_held_out_bags + record.n_left_out_bags == record.refit.bags
    told = f"bags overlap: {record.n_left_out_bags} that share rows with held-out or test bags are not trained on"
    assert told in caplog.text


def test_runs_on_bags_that_overlap_are_others_than_before(home, monkeypatch):
    place = next(path for path in (home.folder / "outputs" / "several").rglob("result.json"))
    record = RunRecord.read(place)
    table = InstanceTable.open(home.data / "several")
    assert Run.of(record.config, table, home.data).hash == record.config_hash
    monkeypatch.setattr("llp.data.keys.given.GivenKey.most_bags_of_a_row", lambda key, table: 1)
    assert Run.of(record.config, table, home.data).hash != record.config_hash


def test_bags_that_measure_a_run_stand_in_its_folder_and_in_the_report(home, monkeypatch):
    """Also of a run that was cut off in its refit, after they were predicted."""
    words = ("grouping_key.n_folds=1", "seed=3")
    monkeypatch.setattr("llp.training.stage._refit", cut_off)
    with pytest.raises(CutOffError):
        home.run("alone", *words)
    monkeypatch.undo()
    monkeypatch.setattr("llp.training.stage._choose", cut_off)  # what was chosen is kept
    record = home.run("alone", *words)
    (folder,) = (home.folder / "outputs" / "alone").rglob(record.config_hash)
    bags = pl.read_csv(folder / "bags.csv")
    assert bags.height == 4  # those held out, as the model predicts them that has not seen them
    stated = dict(pl.read_csv(home.folder / "bags.csv").iter_rows())
    assert [stated[one] for one in bags["id"]] == bags["label_sum"].to_list()
    sizes = dict(pl.read_csv(home.folder / "unlabelled.csv")["campaign"].value_counts().iter_rows())
    assert [sizes[one] for one in bags["id"]] == bags["size"].to_list()
    error = (bags["label_sum"] - bags["predicted_sum"]) / bags["size"]
    assert float((error**2).mean()) == pytest.approx(record.measures["bag_mse"], rel=1e-6)
    found = collect(folder)
    runs = name_variants(found)
    cells = summarize(runs)
    points = bag_calibration(cells, runs).axes[0].lines[0].get_xydata()
    expected = sorted(zip(bags["predicted_sum"] / bags["size"], bags["label_sum"] / bags["size"], strict=True))
    np.testing.assert_allclose(points, expected)
    assert bag_calibration(cells.with_columns(metric=pl.lit("auc")), runs) is None


@pytest.mark.parametrize("method", ["dllp_bce", "sim_llp", "cell_glm", "distilled"])
def test_what_predicts_held_out_bags_has_not_seen_them_nor_has_its_first_stage(home, method):
    """Other sums of these bags change no prediction of them, although the final model is trained on all bags."""

    def predicted(dataset):
        record = home.run(dataset, f"method={method}", "grouping_key.n_folds=1", "seed=5", "trainer.max_epochs=1")
        assert record.refit.bags == 40
        (folder,) = (home.folder / "outputs" / dataset).rglob(record.config_hash)
        return pl.read_csv(folder / "bags.csv")

    bags, moved = predicted("alone"), f"moved_{method}"
    other = bags.select(campaign="id", other=pl.col("size") - pl.col("label_sum"))
    stated = pl.read_csv(home.folder / "bags.csv").join(other, on="campaign", how="left", maintain_order="left")
    path = home.folder / f"{moved}.csv"
    stated.select("campaign", label_sum=pl.coalesce("other", "label_sum")).write_csv(path)
    aggregates = {"bag_column": "campaign", "label_kind": "binary"}
    home.prepare("unlabelled.csv", name=moved, bags=f"'{path}'", **aggregates)
    found = predicted(moved)
    assert found["label_sum"].to_list() == (bags["size"] - bags["label_sum"]).to_list()
    assert found["predicted_sum"].to_list() == bags["predicted_sum"].to_list()


def test_the_key_of_given_bags_is_refused_on_a_table_without_any(home):
    home.prepare("labelled.csv", name="rows", label="bought")
    with pytest.raises(
        InputError, match="Invalid grouping_key=given: rows has no given bags; prepare it with bag_column"
    ):
        home.run("rows", "grouping_key=given")


def test_coverage_of_noisy_sums_counts_the_noise_that_is_told(home):
    measures = home.run("noisy").measures
    assert measures["noise_coverage"] >= measures["bag_coverage"]
    assert "noise_coverage" not in home.run("alone").measures
