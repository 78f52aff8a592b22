"""Text from data and from a run's folder in a config: it is what it is, whatever OmegaConf would make of it."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from llp.analyze import analyze
from llp.config.own_datasets import literal
from llp.data.table import read_schema
from llp.datasets.preparation import prepare_table
from llp.errors import InputError
from tests.helpers.composed import check_config, composition, run_of, run_one

NAMES = ["${oc.env:HOME}", "${x}", "???", r"a\${b}\\"]


@given(st.text(st.sampled_from("\\${}?:x'\"")) | st.text())
def test_a_text_stays_what_it_is(text):
    content = OmegaConf.create(literal({"a": text, "b": [text, {"c": text}]}))
    for resolved in (OmegaConf.to_container(content, resolve=True, throw_on_missing=True), content):
        assert resolved["a"] == resolved["b"][0] == resolved["b"][1]["c"] == text


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Own files whose columns, values and bags have such names."""
    monkeypatch.setenv("LLP_DATA_DIR", str(tmp_path / "data"))
    rng = np.random.default_rng(0)
    texts = [*NAMES, "x"]
    frame = {name: rng.choice(texts, 300) for name in NAMES}
    pl.DataFrame({**frame, "y": rng.integers(0, 2, 300)}).write_csv(tmp_path / "${y}.csv")
    config = composition("prepare", "dataset=files", "name=mine", rf"files='{tmp_path}/\${{y}}.csv'", "label=y")
    prepare_table(check_config(config, "prepare").dataset, tmp_path / "data")
    return tmp_path


def test_columns_of_any_name_train_again_and_are_analyzed(mine):
    places = (f"data_dir={mine}/data", f"outputs_dir={mine}/outputs")
    short = ("trainer.max_epochs=1", "hardware.accelerator=cpu", "save_model=true")
    key = ("grouping_key=feature", r'grouping_key.columns=["\${x}"]', "grouping_key.low_thresh=1")
    config = composition("train", "dataset=mine", *key, *short, *places)
    assert OmegaConf.to_container(config.dataset.key_columns, resolve=True) == NAMES
    record = run_one(config)
    assert record.config["grouping_key"]["columns"] == ["${x}"]
    folder = run_of(config).folder
    again = composition("train", f"from='{folder}'", *places)
    assert run_of(again).folder == folder
    analysis = analyze(check_config(composition("analyze", "dataset=mine", "low_thresh=1", *places), "analyze"))
    frame = pl.read_parquet(analysis / "analysis.parquet")
    assert {*NAMES} <= {*frame["grouping_key"]}


def test_a_table_that_something_else_has_made_calls_nothing(mine):
    path = mine / "data" / "mine" / "schema.json"
    made_by = read_schema(path.parent).made_by["_target_"]
    path.write_text(path.read_text().replace(made_by, "os.system"))
    with pytest.raises(InputError, match=r"data/mine names 'os\.system' as what made it, not llp\.datasets\.files"):
        composition("prepare", "dataset=mine", "force=true", f"data_dir={mine}/data")


def test_own_files_are_prepared_again_from_where_they_are(mine):
    place = mine / "data"
    dataset = check_config(composition("prepare", "dataset=mine"), "prepare").dataset
    raw = mine / "${y}.csv"
    raw.write_text("\n".join(raw.read_text().splitlines()[:101]))
    assert read_schema(place / "mine").rows == 300
    prepare_table(dataset, place, force=True)
    assert read_schema(place / "mine").rows == 100
    with pytest.raises(InputError, match=r"^Invalid raw=x\.csv: dataset=mine reads no raw file"):
        prepare_table(dataset, place, "x.csv", force=True)
