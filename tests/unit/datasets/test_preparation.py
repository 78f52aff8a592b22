"""Tables under a lock: prepared once, never half, and found again."""

import os
import shlex

import numpy as np
import pytest
from filelock import FileLock
from hydra.core.hydra_config import HydraConfig

from llp import prepare
from llp.config.schema import DatasetConfig
from llp.data.table import InstanceTable
from llp.datasets import staging
from llp.datasets.preparation import not_prepared
from llp.errors import InputError
from tests.helpers.composed import composition
from tests.helpers.raw import write_ctr

pytestmark = pytest.mark.run  # prepares data

MADE = {
    "name": "made",
    "table": "made",
    "embedded": True,
    "prepare": {
        "_target_": "llp.datasets.synthetic.prepare_ctr",
        "rows": 500,
        "seed": 0,
        "vocab_fraction": 1e-3,
        "signal": 1.0,
        "rate": 0.5,
    },
}
RAW = {
    "name": "criteo_ctr",
    "table": "criteo_ctr",
    "embedded": False,
    "source": "from somewhere,\n  terms: theirs",
    "prepare": {"_target_": "llp.datasets.criteo_ctr.prepare", "rare_at_most": 10},
}


def of(content):
    """A dataset of some options, as it is handed on; also with a table's name that no config may have."""
    others = {"label_kind": "binary", "key_columns": [], "learning_rate": 0.1, "patience": 1}
    dataset = DatasetConfig.model_validate(others | content | {"table": "made"})
    return dataset.model_copy(update={"table": content.get("table")})


def prepare_table(content, *args, **options):
    return prepare.prepare_table(of(content), *args, **options)


def contents(folder):
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.iterdir()}


def test_an_embedded_dataset_is_prepared_once(tmp_path):
    folder = prepare_table(MADE, tmp_path / "data")
    assert InstanceTable.open(folder).schema.made_by == MADE["prepare"]
    before = contents(folder)
    assert prepare_table(MADE, tmp_path / "data") == folder
    assert contents(folder) == before
    with pytest.raises(InputError, match="reads no raw file, expected no raw="):
        prepare_table(MADE, tmp_path / "data", raw="x.txt", force=True)
    prepare_table(MADE, tmp_path / "data", force=True)
    assert contents(folder) != before


def test_what_was_left_beside_a_table_in_place_is_removed_unless_its_process_is_at_work(tmp_path):
    folder = prepare_table(MADE, tmp_path)
    for left in (".made.99999.raw.tmp", ".made.99999.old.tmp", ".made.v2.99999.tmp"):
        (tmp_path / left).mkdir()
    with FileLock(tmp_path / ".made.lock"):
        prepare_table(MADE, tmp_path)
        assert len(list(tmp_path.glob(".made.99999.*"))) == 2
    assert prepare_table(MADE, tmp_path) == folder
    assert sorted(path.name for path in tmp_path.iterdir()) == [".made.lock", ".made.v2.99999.tmp", "made"]


def test_a_wrong_option_is_told_by_the_name_under_which_it_is_given(tmp_path):
    dataset = MADE | {"rows": -1, "prepare": MADE["prepare"] | {"rows": -1}}
    with pytest.raises(InputError, match=r"Invalid dataset\.rows=-1: expected an integer > 0"):
        prepare_table(dataset, tmp_path)
    dataset = MADE | {"prepare": MADE["prepare"] | {"rate": 2.0}}
    with pytest.raises(InputError, match=r"Invalid dataset\.prepare\.rate=2.0: expected a number > 0 and < 1"):
        prepare_table(dataset, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def raw(tmp_path):
    """A small raw file."""
    return write_ctr(tmp_path / "train.txt", 400)


def test_a_failed_preparation_leaves_the_old_table_and_nothing_else(tmp_path, raw):
    data = tmp_path / "data"
    folder = prepare_table(RAW, data, raw=str(raw))
    label = np.array(InstanceTable.open(folder).label)
    raw.write_text(raw.read_text() + "1\t2\n")
    with pytest.raises(InputError, match="line 401"):
        prepare_table(RAW, data, raw=[str(raw)], force=True)
    np.testing.assert_array_equal(InstanceTable.open(folder, RAW["prepare"]).label, label)
    assert sorted(path.name for path in data.iterdir()) == [".criteo_ctr.lock", "criteo_ctr"]


def test_raw_files_for_a_table_that_is_there_are_not_taken_silently(tmp_path, raw, caplog):
    folder = prepare_table(RAW, tmp_path / "data", raw=str(raw))
    before = contents(folder)
    prepare_table(RAW, tmp_path / "data", raw="other.txt")
    assert contents(folder) == before
    assert "is there already and stays as it is; force=true" in caplog.text


def test_a_preparation_that_dies_while_writing_leaves_no_table(tmp_path, raw, monkeypatch):
    def full_disk(*args, **kwargs):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(staging.TableWriter, "finish", full_disk)
    with pytest.raises(OSError, match="No space left"):
        prepare_table(RAW, tmp_path / "data", raw=str(raw))
    assert [path.name for path in (tmp_path / "data").iterdir()] == [".criteo_ctr.lock"]


def test_raw_files_are_asked_for_by_the_command_that_finds_the_users_own_yaml_files_and_their_source(tmp_path):
    (tmp_path / "conf").mkdir()
    word = f"hydra.searchpath=[file://{tmp_path}/conf]"
    HydraConfig.instance().set_config(composition("train", word, return_hydra_config=True))
    try:
        told = not_prepared(of(RAW | {"name": "mine", "source": "a shop"}), tmp_path / "data" / "mine")
    finally:
        HydraConfig.instance().cfg = None
    assert shlex.split(told.partition("then run: ")[2]) == [
        "python", "-m", "llp.prepare", "dataset=mine", "raw=PATH", f"data_dir={tmp_path / 'data'}", word,
    ]  # fmt: skip
    with pytest.raises(InputError, match=rf"\(from somewhere, terms: theirs\).*raw=PATH data_dir={tmp_path}$"):
        prepare_table(RAW, tmp_path)
