"""Own files from the raw file to a report, by commands alone."""

import numpy as np
import polars as pl
import pytest

from tests.helpers.commands import Command

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
            "weight": np.where(shop < 3, 10.0, 0.1),
            "bought": np.where(bought, ">0 euro", "nothing"),
        }
    )


@pytest.fixture(scope="module")
def mine(command, home):
    """Prepare own files with a given test split; the command shows their kinds."""
    made().write_csv(home / "mine (1).csv", separator=";", decimal_comma=True)
    made(600, seed=1).write_parquet(home / "later.parquet")
    prepared = command(
        "dataset=files", "name=mine", f"files={home}/mine (1).csv", "label=bought", "positive=>0 euro", "decimal=comma",
        f"test_files={home}/later.parquet", "weight_column=weight", module="llp.prepare",
    )  # fmt: skip
    assert prepared.returncode == 0, prepared.stderr
    assert "numeric" in prepared.stdout
    assert "mine: 2,100 rows" in prepared.stdout


@pytest.mark.usefixtures("mine")
def test_every_command_takes_the_name(command):
    base = ("dataset=mine", "method=dllp_bce", *SHORT)
    trains = (("llp.train", [*base, f"grouping_key={key}", "fold=0"]) for key in ("shop_town", "random_64"))
    answers = command.each(
        [*trains, ("llp.analyze", ["dataset=mine", "low_thresh=10", "key_size=1", "bag_sizes=[64]"])]
    )
    assert [answer.returncode for _, answer in answers] == [0, 0, 0], [answer.stderr for _, answer in answers]
    records = [record for record in command.results().values() if record["dataset"] == "mine"]
    assert {record["grouping_key"] for record in records} == {"shop_town", "random_64"}
    assert {record["n_test_instances"] for record in records} == {600}
    assert all(record["measures"]["weighted_auc"] != record["measures"]["auc"] for record in records)
    assert {record["n_train_instances"] for record in records if record["grouping_key"] == "random_64"} == {1500}


@pytest.mark.usefixtures("mine")
def test_data_dir_of_the_command_line_is_where_own_datasets_are(command, home):
    place = f"data_dir={home}/data"
    (answer,) = command.many(["dataset=mine", place, "method=group_prior", "fold=0", *SHORT], LLP_DATA_DIR="no")
    assert answer.returncode == 0, answer.stderr
