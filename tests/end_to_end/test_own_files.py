"""Own files from the raw file to a report, by commands alone."""

import gzip
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from llp.data.table import read_schema
from llp.data.vocabulary import read_vocabulary
from tests.helpers.commands import Command

ADULT = Path(os.environ.get("LLP_REAL_DATA", Path(__file__).parents[3] / "shared" / "data")) / "adult.data.gz"
NAMES = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income"
)
SHORT = ("trainer.max_epochs=1", "hardware.accelerator=cpu")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def command(home):
    return Command(home / "data", home / "outputs", home)


def made(n=1500, seed=0):
    """Rows whose label depends on a text and on a number."""
    rng = np.random.default_rng(seed)
    shop, price = rng.integers(0, 6, n), rng.normal(size=n).round(3)
    bought = rng.random(n) < 1 / (1 + np.exp(2.0 - shop / 2 - price))
    return pl.DataFrame(
        {
            "shop": [f"shop {i}" for i in shop],
            "town": [f"town {i}" for i in rng.integers(0, 4, n)],
            "price": price,
            "bought": np.where(bought, ">0 euro", "nothing"),
        }
    )


@pytest.fixture(scope="module")
def mine(command, home):
    """Prepared own files with a given test split; the answer of the command."""
    made().write_csv(home / "mine (1).csv", separator=";", decimal_comma=True)
    made(600, seed=1).write_parquet(home / "later.parquet")
    return command(
        "dataset=files", "name=mine", f"files={home}/mine (1).csv", "label=bought", "positive=>0 euro", "decimal=comma",
        f"test_files={home}/later.parquet", module="llp.prepare",
    )  # fmt: skip


def test_prepare_shows_the_kinds(mine):
    assert mine.returncode == 0, mine.stderr
    assert "numeric" in mine.stdout
    assert "mine: 2,100 rows" in mine.stdout


def test_every_command_takes_the_name(mine, command):
    base = ("dataset=mine", "method=dllp_bce", *SHORT)
    trains = (("llp.train", [*base, f"grouping_key={key}", "fold=0"]) for key in ("shop_town", "random_64"))
    answers = command.each(
        [*trains, ("llp.analyze", ["dataset=mine", "low_thresh=10", "key_size=1", "bag_sizes=[64]"])]
    )
    assert [answer.returncode for _, answer in answers] == [0, 0, 0], [answer.stderr for _, answer in answers]
    records = [record for record in command.results().values() if record["dataset"] == "mine"]
    assert {record["grouping_key"] for record in records} == {"shop_town", "random_64"}
    assert {record["n_test_instances"] for record in records} == {600}
    assert {record["n_train_instances"] for record in records if record["grouping_key"] == "random_64"} == {1500}


def test_data_dir_of_the_command_line_is_where_own_datasets_are(mine, command, home):
    (answer,) = command.many(
        ["dataset=mine", f"data_dir={home}/data", "method=group_prior", "fold=0", *SHORT], LLP_DATA_DIR=str(home / "no")
    )
    assert answer.returncode == 0, answer.stderr


def write_shapes(folder):
    """Files of six shapes, three of which hold the same rows; by the dataset's name, the options that they need."""
    rng = np.random.default_rng(3)
    n, n_ids = 3000, 100_000
    price, day = rng.normal(scale=3, size=n).round(2), rng.integers(0, 366, n)
    shop = rng.integers(0, 6, n)
    odds = shop / 2 + price / 3 - 2
    bought = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    same = pl.DataFrame({"shop": [f'the "{i}"; best' for i in shop], "price": price, "bought": bought})
    words = same.with_columns(bought=pl.when(pl.col("bought") == 1).then(pl.lit("ja")).otherwise(pl.lit("nein")))
    words.write_csv(folder / "semicolons.csv", separator=";", decimal_comma=True, quote_style="always")
    (folder / "twice.csv").write_text(same[:2000].write_csv() + same[2000:].write_csv())
    weight = np.where(shop < 3, 10.0, 0.1)
    same.with_columns(weight=weight).write_csv(folder / "weighted.csv")

    late = rng.random(n) < np.where(day >= 182, 0.8, 0.2)
    typed = pl.DataFrame(
        {
            "shop": [f"shop {i}" if i else None for i in shop],
            "day": np.datetime64("2024-01-01") + day.astype("timedelta64[D]"),
            "price": [None if i % 10 == 0 else one for i, one in enumerate(price.tolist())],
            "late": late,
        }
    )
    typed.with_columns(pl.col("shop").cast(pl.Categorical)).write_parquet(folder / "typed.parquet")

    ids = rng.permutation(np.repeat(np.arange(n_ids), 2))
    clicked = rng.random(2 * n_ids) < np.where(ids % 2 == 0, 0.9, 0.1)
    pl.DataFrame({"user": [f"u{i:06}" for i in ids], "clicked": clicked * 1}).write_csv(folder / "ids.csv")

    x = rng.normal(size=(n, 4))
    y = rng.random(n) < 1 / (1 + np.exp(x[:, 1] - 2 * x[:, 0]))
    pl.DataFrame({f"x{i}": x[:, i] for i in range(4)} | {"y": y * 1}).write_csv(folder / "numbers.tsv", separator="\t")
    return {
        "semicolons": ("semicolons.csv", ["label=bought", "positive=ja", "decimal=comma"]),
        "twice": ("twice.csv", ["label=bought"]),
        "weighted": ("weighted.csv", ["label=bought", "weight_column=weight"]),
        "typed": ("typed.parquet", ["label=late"]),
        "ids": ("ids.csv", ["label=clicked", "rare_threshold=0"]),
        "numbers": ("numbers.tsv", ["label=y"]),
    }


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_files_of_six_shapes_from_the_raw_file_to_the_report(tmp_path):
    shapes, command = write_shapes(tmp_path), Command(tmp_path / "data", tmp_path / "outputs", tmp_path, timeout=900)
    jobs = [["dataset=files", f"name={name}", f"files={file}", *words] for name, (file, words) in shapes.items()]
    prepared = command.many(*jobs, module="llp.prepare")
    assert [answer.returncode for answer in prepared] == [0] * 6, [answer.stderr for answer in prepared]
    assert "twice: 3,000 rows" in prepared[1].stdout
    trained = command(
        "-m", f"dataset={','.join(shapes)}", "method=dllp_bce,upm", "grouping_key=random_16", "fold=0,1",
        "trainer.max_epochs=5", "hardware.accelerator=cpu",
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    records = {(record["dataset"], record["method"], record["fold"]): record for record in command.results().values()}
    assert len(records) == 24
    auc = {
        name: np.mean([record["measures"]["auc"] for (one, _, _), record in records.items() if one == name])
        for name in shapes
    }
    assert auc["semicolons"] == auc["twice"] == auc["weighted"] > 0.7
    assert auc["typed"] > 0.7
    assert auc["ids"] > 0.53
    assert auc["numbers"] > 0.8
    for (name, _, _), record in records.items():
        weighted = record["measures"].get("weighted_auc")
        assert (weighted is not None) == (name == "weighted")
        assert weighted != record["measures"]["auc"]
    months, codes = (read_vocabulary(tmp_path / "data" / "typed", 2), read_schema(tmp_path / "data" / "typed"))
    assert codes.categorical[2].name == "day.month"
    assert sorted(months["value"].cast(int)) == [*range(1, 13)]
    report = command(module="llp.report")
    assert report.returncode == 0, report.stderr
    text = (tmp_path / "outputs" / "report" / "report.md").read_text()
    shown = [f"{np.mean([records['numbers', 'upm', fold]['measures']['auc'] for fold in (0, 1)]):.4f}"]
    assert all(part in text for part in (*shapes, *shown))


@pytest.mark.skipif(not ADULT.is_file(), reason="the Adult file is not there")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_adult_from_the_raw_file_to_a_report_of_three_methods_and_five_folds(command, home):
    trained = command(
        "-m", "dataset=files", "name=adult", f"files={ADULT}", f"columns=[{NAMES}]", "label=income", "positive=>50K",
        "grouping_key=education_occupation", "method=dllp_bce,dllp_mse,group_prior", *SHORT,
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    records = [record for record in command.results().values() if record["dataset"] == "adult"]
    assert len(records) == 15
    assert min(record["metric"]["best"] for record in records) > 0.6
    report = command("dataset=adult", module="llp.report")
    assert report.returncode == 0, report.stderr
    assert "adult" in (home / "outputs" / "report" / "report.md").read_text()
    with gzip.open(ADULT, "rt") as file:
        rows = sum(1 for line in file if line.strip())
    assert read_schema(home / "data" / "adult").rows == rows
