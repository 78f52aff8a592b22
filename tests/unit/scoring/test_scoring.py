"""Scores of new rows and exported models against the run's own model, from what a user sees: files."""

import bisect
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import torch
from scipy.special import expit

from llp.datasets.files.recipe import Recipe
from llp.errors import InputError
from llp.export import main as export_command
from llp.models.label_start import begun
from llp.runs.record import RunRecord
from llp.scoring import rows as rows_module
from llp.scoring import trained
from llp.scoring.export import export, preprocessing
from llp.scoring.trained import find_runs
from tests.helpers.own_files import Home, prepare_files, shop_rows
from tests.helpers.raw import prepare_ctr, write_ctr

N = 700
MODELS = ("mlp", "linear", "embedding_mlp", "autoint")


def rows(n=N, seed=0):
    return shop_rows(n, seed).drop("campaign")


class ScoringHome(Home):
    """Tables of own files, and runs on them."""

    def __init__(self, folder):
        super().__init__(folder)
        self.frame = rows()
        self.frame.write_csv(folder / "mine.csv")
        options = {"id_column": "who", "date_parts": "[month,weekday]", "rare_threshold": 5}
        self.prepare("mine.csv", label="bought", ignore="[spent]", **options)
        self.prepare("mine.csv", name="spent", label="spent", ignore="[bought]", **options)

    def run(self, *words, dataset="mine", seed=0):
        base = ["grouping_key=random_64", "trainer.max_epochs=2", "save_model=true", f"seed={seed}"]
        return self.train(dataset, *base, *words)[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    yield from ScoringHome.of(tmp_path_factory)


@pytest.fixture(scope="module")
def run(home):
    return home.run()


@pytest.fixture(scope="module")
def new(home):
    """New rows: values and months that the table lacks, in other files and another order of columns."""
    frame = rows(400, seed=5).with_columns(pl.col("shop").replace("shop 3", "new shop"))
    frame[:150].write_parquet(home.folder / "new1.parquet")
    frame[150:].select("day", "price", "who", "shop").write_parquet(home.folder / "new2.parquet")
    return frame


def test_the_command_scores_as_the_run_does_without_lightning(home, run):
    words = [f"run={run}", "files=mine.csv", "out=alone.parquet"]
    code = (
        "import runpy, sys; sys.argv = ['predict', *sys.argv[1:]]\n"
        "try: runpy.run_module('llp.predict', run_name='__main__')\n"
        "finally: print('lightning' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=True, capture_output=True, text=True, cwd=home.folder
    )
    assert done.stdout.split()[-1] == "False"
    assert pl.read_parquet(home.folder / "alone.parquet").equals(home.scores([run]))


@pytest.mark.parametrize("scored", ["table", "files"])
def test_rows_beyond_one_part_and_one_block_are_scored_as_each_alone(home, scored, monkeypatch):
    """More rows than the model takes at once, in more than one block, none of which is a multiple of the other."""
    monkeypatch.setattr(trained, "ROWS_AT_ONCE", 40)
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", 130)
    frame = rows(1000, seed=8)
    frame.write_parquet(home.folder / "long.parquet", row_group_size=150)
    home.prepare("long.parquet", name="long", label="bought", id_column="who", ignore="[spent]")
    folder = home.run(dataset="long")
    found = home.scores([folder], None if scored == "table" else [home.folder / "long.parquet"])
    assert found.columns == ["who", "probability", "log_odds"]
    assert found["who"].to_list() == frame["who"].to_list()
    np.testing.assert_allclose(found["probability"], expit(found["log_odds"].to_numpy()), atol=1e-12)
    runs = home.runs(folder)
    with torch.no_grad():
        expected = runs.methods[0](torch.tensor(runs.table.categorical), torch.tensor(runs.table.numeric)).numpy()
    assert len(np.unique(expected)) > 900
    np.testing.assert_allclose(found["log_odds"], expected, atol=1e-6)


@pytest.mark.parametrize("out", ["scores.csv", "scores.arrow"])
def test_other_formats_hold_the_same(home, run, out):
    assert home.scores([run], out=out).equals(home.scores([run]))


def test_score_of_a_row_does_not_depend_on_the_others_or_on_the_order_of_the_columns(home, run, new):
    frame = new.drop("bought", "spent")
    together = home.scores([run], [home.folder / "new1.parquet"])
    assert together["who"].to_list() == frame["who"].to_list()[:150]
    frame[40:41].select("price", "shop", "day", "who").write_csv(home.folder / "one.csv", separator=";")
    one = home.scores([run], [home.folder / "one.csv"])
    assert one["who"].item() == together["who"][40]
    assert one.equals(together[40:41])  # to the last digit


def test_several_runs_are_averaged(home, run, new):
    files = [home.folder / "new1.parquet"]
    other = home.run(seed=1)
    both = home.scores([run, other], files)["probability"]
    single = [home.scores([one], files)["probability"].to_numpy() for one in (run, other)]
    assert not np.allclose(*single)
    np.testing.assert_allclose(both, np.mean(single, axis=0), atol=1e-12)
    np.testing.assert_allclose(expit(home.scores([run, other], files)["log_odds"].to_numpy()), both, atol=1e-12)


def test_a_run_that_is_named_twice_counts_once(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").touch()
    monkeypatch.chdir(tmp_path)
    assert [folder.name for folder in find_runs(["two", str(tmp_path / "*"), "one"])] == ["two", "one"]


def test_predictions_of_a_real_label_are_in_its_unit(home):
    folder = home.run("method=dllp_mse", "trainer.max_epochs=12", "dataset.learning_rate=0.01", dataset="spent")
    frame = home.scores([folder])
    assert frame.columns == ["who", "prediction"]
    assert np.corrcoef(frame["prediction"], home.frame["spent"])[0, 1] > 0.3


def test_mean_map_scores_as_its_evaluation_does(home):
    """Its log-odds are twice the model's score."""
    folder = home.run("method=mean_map", "model=linear", "grouping_key=shop", "grouping_key.low_thresh=2")
    runs = home.runs(folder)
    method, table = runs.methods[0], runs.table
    with torch.no_grad():
        scores = method.model(torch.tensor(table.categorical), torch.tensor(table.numeric))
        expected = 2 * begun(method.model, scores).numpy()
    np.testing.assert_allclose(home.scores([folder])["log_odds"], expected, atol=1e-6)


def test_file_without_header_and_without_the_label(home):
    frame = home.frame.select("shop", "price", "bought")
    frame.write_csv(home.folder / "bare.csv", include_header=False)
    home.prepare("bare.csv", name="bare", label="bought", columns="[shop,price,bought]")
    folder = home.run(dataset="bare")
    frame.drop("bought").write_csv(home.folder / "bare_new.csv", include_header=False)
    with_label, without = (home.scores([folder], [home.folder / name]) for name in ("bare.csv", "bare_new.csv"))
    assert with_label.equals(without)


NEW = rows(20)
NAMES = "; its first line has to name the columns$"


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (NEW.drop("price"), r"wrong.file has no column 'price', which the model needs; it has who"),
        (NEW.with_columns(price=pl.lit("cheap")), r"column 'price' holds 'cheap', which is no number"),
        (
            NEW.with_columns(day=pl.Series([*map(str, NEW["day"][:3]), *(f"soon {i}" for i in range(17))])),
            r"record 4: column 'day' holds 'soon 0', which is no date",
        ),
        (NEW.with_columns(shop=pl.lit([1, 2])), r"column 'shop' holds List"),
        (NEW.write_csv() + "user 7,shop 1\n", r"wrong.file, line 22: 2 fields instead of 6\. Correct the file\.$"),
        (NEW.drop("bought", "spent").write_csv(include_header=False), f"holds the number.*{NAMES}"),
        (NEW.clear(), r"no data among the files: nothing in .*wrong.file\.$"),
        ("x,x\n", f"'x' stands twice{NAMES}"),
    ],
)
def test_what_does_not_fit_is_told_without_an_option_that_the_command_lacks(home, run, new, message):
    path = home.folder / "wrong.file"
    if isinstance(new, str):
        path.write_text(new)
    else:
        new.write_parquet(path)
    with pytest.raises(InputError, match=message) as error:
        home.scores([run], [path], out="wrong_scores.parquet")
    assert not re.search("(header|columns|errors)=", str(error.value))
    assert not list(home.folder.glob("*wrong_scores*"))


def test_what_a_killed_command_left_beside_the_scores_is_removed_by_the_next_one(home, run):
    """Not what one that is still at work writes, nor anybody else's."""
    killed, alive = (home.folder / f".scores.{token * 8}.llp-part.parquet" for token in ("0a", "0b"))
    other = home.folder / ".scores.mine.parquet"
    for path in (killed, alive, other):
        path.write_bytes(b"half")
        os.utime(path, (0, 0))
    with alive.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        home.scores([run])
    assert [path.exists() for path in (killed, alive, other)] == [False, True, True]
    home.scores([run])
    assert not alive.exists()


def test_a_file_in_the_place_of_the_export_is_told_before_any_work(home, tmp_path, monkeypatch, capsys):
    (tmp_path / "taken").write_text("mine")
    monkeypatch.setattr("sys.argv", ["export", "run=nowhere", f"out={tmp_path / 'taken'}"])
    with pytest.raises(SystemExit) as end:
        export_command()
    assert re.match(
        r"Invalid out='.*taken': expected a folder, .*; this is a file, such as out=export$", str(end.value)
    )
    assert (tmp_path / "taken").read_text() == "mine"


def test_what_the_model_does_not_know_is_counted_by_column_and_told(home, run, caplog):
    caplog.set_level("INFO", logger="llp")
    frame = rows(200, seed=6).with_columns(
        shop=pl.Series([f"shop {i % 3}" if i % 5 else "elsewhere" for i in range(200)]),
        day=pl.Series([f"2024-0{1 + i % 9}-15" for i in range(200)]),
        colour=pl.lit("red"),
    )
    for name, told in (("some", frame), ("none", frame.with_columns(shop=pl.lit("x"), price=pl.lit(None, pl.Float64)))):
        told.write_csv(home.folder / f"{name}.csv")
        caplog.clear()
        home.scores([run], [home.folder / f"{name}.csv"], out="told.csv")
        count, missing = (40, 5) if name == "some" else (200, 200)
        unknown = f"values unknown to the model (never or seldom seen): shop {count} ({count / 200:.1%})"
        assert f"of 200 row(s), {unknown}" in caplog.text
        assert f"of 200 row(s), missing numbers (scored as the mean, or as bin 0): price {missing} (" in caplog.text
        warned = {one.message.partition(":")[0] for one in caplog.records if one.levelname == "WARNING"}
        assert ("'shop' holds no value that the model knows" in warned) == (name == "none")
        assert ("'price' holds no number" in warned) == (name == "none")
        assert "the model does not know the column(s) colour" in warned


def test_a_table_that_was_prepared_again_is_noticed(home):
    """From other rows or with other options: its codes mean something else than those the run was trained on."""
    files = home.folder / "again.csv"
    rows(300, seed=7).write_csv(files)
    prepared = {"name": "again", "label": "bought", "ignore": "[spent]", "id_column": "who"}
    home.prepare(files, **prepared)
    folder = home.run(dataset="again")
    home.scores([folder], [files])
    for change in ({"rare_threshold": 0}, {}):
        shutil.rmtree(home.data / "again")
        rows(300, seed=7 if change else 8).write_csv(files)
        home.prepare(files, **prepared, **change)
        with pytest.raises(InputError, match=r"again is not the table that .* was trained on: it was prepared again"):
            home.scores([folder], [files])


def test_a_recipe_of_an_earlier_version_is_refused_and_the_table_prepared_again_is_another_one(home, tmp_path):
    table = prepare_files(tmp_path, home.folder / "mine.csv", label="bought")
    path = table.folder / "recipe.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"format_version": content["format_version"] - 1}))
    with pytest.raises(InputError, match=r"another format than this version reads; prepare .* again"):
        Recipe.load(table.folder)
    assert table.schema.facts["coding_version"] == content["format_version"]  # so its fingerprint is another one


@pytest.mark.parametrize("model", MODELS)
def test_exported_model_and_preprocessing_score_as_the_run_does(home, new, model):
    """The exported files are used as their reader would: without this package's preprocessing."""
    folder = home.run(f"model={model}")
    out = home.folder / f"export_{model}"
    assert export(home.runs(folder), out) <= 1e-6
    inputs = json.loads((out / "preprocessing.json").read_text())
    records = new[:150].rows(named=True)
    codes = [[code_of(record, one) for one in inputs["categorical"]] for record in records]
    numbers = [
        [0.0 if record[one["column"]] is None else (record[one["column"]] - one["mean"]) / one["std"]
         for one in inputs["numeric"]]
        for record in records
    ]  # fmt: skip
    program = torch.export.load(out / "model.pt2").module()
    with torch.no_grad():
        scores = program(torch.tensor(codes, dtype=torch.int32), torch.tensor(numbers, dtype=torch.float32))
    expected = home.scores([folder], [home.folder / "new1.parquet"])["log_odds"]
    np.testing.assert_allclose(scores.numpy(), expected, atol=1e-6, rtol=1e-6)


def test_export_has_a_card_of_the_runs_record(home):
    """Every number that it tells is the record's."""
    noisy = ["noise=laplace", "noise.epsilon=2", "protocol=holdout"]
    for words, said in (
        ([], "No noise is known"),
        (noisy, r"`laplace` noise of scale 0.5, which promises ε = 2 for all"),
    ):
        folder = home.run("method=upm", *words, seed=len(words))
        runs, out = home.runs(folder), home.folder / "carded"
        export(runs, out)
        told, record = (out / "README.md").read_text(), RunRecord.read(folder / "result.json")
        assert told.startswith("# upm on mine\n")
        assert re.search(said, told)
        for name in ("auc", "log_loss"):
            value, constant = (f"{record.measures[one]:.4g}" for one in (name, f"constant_{name}"))
            assert f"| {name} | {value} | {constant} |" in told
        train, test = record.n_train_instances, record.n_test_instances
        assert f"{train:,} train and {test:,} test instances (fold 0, seed {len(words)})" in told
        assert f"`random_64` (random), {record.n_train_bags:,} bags\nover {train:,} instances" in told
        assert (f", {record.n_held_out_bags:,} held out" in told) == bool(words)
        assert f"epoch {record.metric.best_epoch} was picked by `{record.metric.picked_by}`" in told
        assert ("the measures are optimistic" in told) == (not words)
        assert "None" not in told


def test_preprocessing_of_a_table_that_was_not_made_from_own_files_codes_its_raw_values(tmp_path):
    table = prepare_ctr(tmp_path / "ctr", write_ctr(tmp_path / "train.txt", 500))
    inputs = json.loads(json.dumps(preprocessing(table)))
    rows = [line.split("\t")[1:] for line in (tmp_path / "train.txt").read_text().splitlines()]
    numbered = [*enumerate(inputs["categorical"])]
    assert len(numbered) == 39
    for i, one in numbered[13:]:
        assert one["codes"] == len(one["values"]) + 1
        missing = one["encoding"]["missing"]
        texts = [None if row[i] in missing else row[i] for row in rows]
        ours = [1 + one["values"].index(text) if text in one["values"] else 0 for text in texts]
        assert table.codes(one["name"]).tolist() == ours
    assert {one["encoding"]["kind"] for _, one in numbered[:13]} == {"log_squared_bins"}


def code_of(record, one):
    """A code by what `preprocessing.json` says."""
    value = record[one["column"]]
    if one["value"] == "bins":
        return 0 if value is None else 1 + bisect.bisect_left(one["edges"], value)
    if one["value"] in ("month", "weekday"):
        value = str(value.month if one["value"] == "month" else value.isoweekday())
    return 1 + one["values"].index(value) if value in one["values"] else 0
