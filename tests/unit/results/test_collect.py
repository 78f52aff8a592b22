"""Reading runs: real records, and everything that a folder of outputs may hold instead."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from llp.errors import InputError
from llp.files import SMALL_FILE
from llp.results.chosen import datasets_of, filtered
from llp.results.collect import RUN_COLUMNS, collect
from llp.runs.point import Point
from llp.runs.record import SCHEMA
from tests.helpers.composed import composition, run_one
from tests.helpers.hostile import BOMB
from tests.helpers.records import ask_for, record, run_folder, write_run


def test_reads_what_a_run_writes(tmp_path: Path) -> None:
    overrides = ["dataset=synthetic", "dataset.rows=3000", "dataset.vocab_fraction=0.001", "method=group_prior"]
    overrides += ["grouping_key=random_64", f"data_dir={tmp_path}/data", f"outputs_dir={tmp_path}/outputs"]
    written = run_one(composition("train", *overrides))
    collected = collect(tmp_path / "outputs")
    assert (collected.left, collected.problems) == ([], [])
    row = collected.runs.row(0, named=True)
    assert len(collected.runs) == 1
    measures = [f"measures.{name}" for name in written.measures]
    assert list(row) == [*RUN_COLUMNS, *sorted(measures), "config", "folder"]
    point = [row[name] for name in ("dataset", "grouping_key", "method", "fold")]
    assert point == ["synthetic", "random_64", "group_prior", 0]
    assert (row["metric"], row["best"], row["epochs"]) == ("auc", written.metric.best, 0)
    assert (row["bag_kind"], row["bag_size"]) == ("random", 64)
    assert [row[name] for name in measures] == list(written.measures.values())
    [config] = collected.configs
    assert (config["grouping_key.bag_size"], config["table"]) == ("64", written.table)
    assert "fold" not in config


@pytest.mark.parametrize("value", [None, [], {}, True, "x"])
def test_a_setting_that_is_none_counts_as_of_before_there_was_one(tmp_path: Path, value: Any) -> None:
    start = [] if value == "x" else value
    write_run(tmp_path, 0.6, config={"trainer": {"evaluate_every": value}, "protocol": {"start": start}})
    row = collect(tmp_path).runs.row(0, named=True)
    assert (row["evaluate_every"], row["start"]) == (1.0, "authors")


def changed(**changes: Any) -> str:
    return json.dumps(record("auc", 0.5).model_dump() | changes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema_version": 2, "data', "is damaged: Invalid JSON"),
        ("\udcff", "is damaged: Invalid JSON"),
        ("null", "is damaged: Input should be an object"),
        ('{"epochs": 3}', "is damaged: dataset: Field required"),
        ("[" * 100_000, "is damaged: Invalid JSON"),
        (changed(schema_version=99), f"has schema 99: this version of llp-bench reads schema {SCHEMA}"),
        ('{"schema": 1, "metric": {}}', f"has schema 1: this version of llp-bench reads schema {SCHEMA}"),
        (changed(metric=None), "is damaged: metric: "),
        (changed(fold="0"), "is damaged: fold: "),
        (changed(bag_size=2**63), "is damaged: bag_size: "),
        (changed(stages=[]), "is damaged: stages: "),
        (changed(measures={"auc": "high"}), "is damaged: measures.auc: "),
    ],
)
def test_a_record_that_cannot_be_used_is_named_and_left_out(tmp_path: Path, text: str, said: str) -> None:
    good = write_run(tmp_path, 0.7, fold=1)
    bad = write_run(tmp_path, 0.6, fold=0) / "result.json"
    bad.write_bytes(text.encode(errors="surrogateescape"))
    collected = collect(tmp_path)
    assert collected.runs["folder"].to_list() == [str(good)]
    assert len(collected.problems) == 1
    assert collected.problems[0].startswith(str(bad))
    assert said in collected.problems[0]
    assert "\n" not in collected.problems[0]


def test_a_copied_run_counts_once(tmp_path: Path) -> None:
    write_run(tmp_path, 0.6)
    copied = write_run(tmp_path / "old copy", 0.6)
    collected = collect(tmp_path)
    assert len(collected.runs) == 1
    assert len(collected.problems) == 1
    assert "is the same run as" in collected.problems[0]
    assert str(copied) in collected.problems[0]


def fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


BAD_FILES = {
    "pipe": ("result.json", fifo),
    "larger than any record": ("result.json", lambda path: os.truncate(path, SMALL_FILE + 1)),
    "deeply nested": ("result.json", lambda path: path.write_text("[" * 1_000_000)),
    "folder": ("result.json", lambda path: (path.unlink(), path.mkdir())),
    "link to itself": ("result.json", lambda path: (path.unlink(), path.symlink_to(path))),
}
HARMLESS = {
    "alias bomb": ("config.yaml", lambda path: path.write_text(BOMB)),
    "recursive alias": ("config.yaml", lambda path: path.write_text("a: &a [*a]")),
    "deeply nested configuration": ("config.yaml", lambda path: path.write_text("[" * 1_000_000)),
    "pipe for a configuration": ("config.yaml", fifo),
    "error of an earlier attempt": ("error.json", lambda path: path.write_text("{}")),
    "pipe for an error": ("error.json", fifo),
    "pipe for an attempt": ("attempt", fifo),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("case", BAD_FILES | HARMLESS)
def test_one_bad_file_never_hides_the_others(tmp_path: Path, case: str) -> None:
    good = write_run(tmp_path, 0.7, fold=1)
    bad = write_run(tmp_path, 0.6, fold=0)
    name, damage = (BAD_FILES | HARMLESS)[case]
    damage(bad / name)
    collected = collect(tmp_path)
    if case in HARMLESS:
        assert (collected.left, collected.problems) == ([], [])
        assert sorted(collected.runs["folder"]) == sorted([str(good), str(bad)])
    else:
        assert collected.runs["folder"].to_list() == [str(good)]
        # a folder of that name is no record: the run counts as one that was cut off
        assert len(collected.problems) + len(collected.left) == 1


@pytest.mark.timeout(30)
def test_a_bad_error_record_is_told(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, record("auc", 0.5))
    folder.mkdir(parents=True)
    fifo(folder / "error.json")
    [failure] = collect(tmp_path).failed
    assert "cannot be read" in failure.reason


def test_what_a_grid_asked_for_is_known_before_its_first_run(tmp_path: Path) -> None:
    write_run(tmp_path, 0.6, fold=0)
    ask_for(tmp_path, "mine", [Point("asked", "random_64", "upm", 0, 0)])
    collected = collect(tmp_path)
    assert datasets_of(tmp_path, collected, None) == ["asked", "flights"]
    assert datasets_of(tmp_path, collected, ["asked"]) == ["asked"]
    assert filtered(tmp_path, collected, {"method": ["upm"]}).runs.is_empty()
    with pytest.raises(InputError, match=r"^Invalid method=nothing: no run has it; write method=\[.*upm.*\]"):
        filtered(tmp_path, collected, {"method": ["nothing"]})
