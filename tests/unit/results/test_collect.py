"""Reading runs: real records, and everything that a folder of outputs may hold instead."""

import json
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from llp.config.grouping_keys import CONF_DIR, register
from llp.results.collect import RUN_COLUMNS, collect
from llp.runs.run import run_one
from tests.helpers.records import record, run_folder, write_run


def test_reads_what_a_run_writes(tmp_path: Path) -> None:
    register()
    overrides = ["dataset=synthetic", "dataset.rows=3000", "dataset.vocab_fraction=0.001", "method=group_prior"]
    overrides += ["grouping_key=random_64", f"data_dir={tmp_path}/data", f"outputs_dir={tmp_path}/outputs"]
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        written = run_one(compose("train", overrides))
    collected = collect(tmp_path / "outputs")
    assert (collected.failed, collected.unfinished, collected.problems) == ([], [], [])
    row = collected.runs.row(0, named=True)
    assert len(collected.runs) == 1
    assert list(row) == list(RUN_COLUMNS)
    assert (row["dataset"], row["grouping_key"], row["method"], row["fold"]) == (
        "synthetic",
        "random_64",
        "group_prior",
        0,
    )
    assert (row["metric"], row["best"], row["epochs"]) == ("auc", written["metric"]["best"], 0)
    assert json.loads(row["measures"]) == written["measures"]
    config = json.loads(row["config"])
    assert (config["grouping_key.bag_size"], config["table"]) == ("64", written["table"])
    assert "fold" not in config
    # the records of the other tests have the fields of a real one
    assert record("auc", 0.5).keys() == written.keys()
    assert record("auc", 0.5)["metric"].keys() == written["metric"].keys()
    assert record("auc", 0.5)["stages"][0].keys() == written["stages"][0].keys()


def test_stages_before_the_last_are_counted_apart(tmp_path: Path) -> None:
    first, last = record("auc", 0.6)["stages"][0], record("auc", 0.6)["stages"][0] | {"epochs": 7}
    write_run(tmp_path, 0.6, stages=[first, last])
    row = collect(tmp_path).runs.row(0, named=True)
    assert (row["first_stage_epochs"], row["epochs"]) == (4, 7)


def test_a_metric_that_is_not_a_number_is_kept_as_one(tmp_path: Path) -> None:
    write_run(tmp_path, float("nan"))
    runs = collect(tmp_path).runs
    assert runs["best"].is_nan().to_list() == [True]


def test_a_run_that_never_saw_the_test_rows_before_its_end_counts(tmp_path: Path) -> None:
    path = write_run(tmp_path, 0.6, protocol="holdout") / "result.json"
    written = json.loads(path.read_text())
    written["metric"] |= {"last": None, "untrained": None}
    path.write_text(json.dumps(written))
    collected = collect(tmp_path)
    assert collected.problems == []
    assert collected.runs["best"].to_list() == [0.6]
    assert collected.runs["untrained"].is_nan().to_list() == [True]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": 1, "data', "cannot be read"),
        ("\udcff", "cannot be read"),
        ("[1, 2]", "no result record: it has no schema"),
        ('{"epochs": 3}', "no result record: it has no schema"),
        (json.dumps(record("auc", 0.5) | {"schema": 99}), "has schema 99, this version reads schema 1"),
        (json.dumps(record("auc", 0.5) | {"metric": None}), "has no metric.name"),
        (json.dumps(record("auc", 0.5) | {"fold": "0"}), "fold is '0'"),
        (json.dumps(record("auc", 0.5) | {"seed": 2**63}), "seed is 9223372036854775808"),
        (json.dumps(record("auc", 0.5) | {"stages": []}), "stages is empty"),
        (json.dumps(record("auc", 0.5) | {"measures": {"auc": "high"}}), "measures.auc is 'high'"),
    ],
)
def test_a_record_that_does_not_fit_is_named_and_left_out(tmp_path: Path, text: str, said: str) -> None:
    good = write_run(tmp_path, 0.7, fold=1)
    bad = write_run(tmp_path, 0.6, fold=0) / "result.json"
    bad.write_bytes(text.encode(errors="surrogateescape"))
    collected = collect(tmp_path)
    assert collected.runs["folder"].to_list() == [str(good)]
    assert len(collected.problems) == 1
    assert collected.problems[0].startswith(str(bad))
    assert said in collected.problems[0]


@pytest.mark.parametrize(
    ("config", "said"), [(None, "no readable config.yaml"), ("a: [", "no configuration"), ("3", "no configuration")]
)
def test_a_record_without_its_configuration_is_left_out(tmp_path: Path, config: str | None, said: str) -> None:
    path = write_run(tmp_path, 0.6) / "config.yaml"
    if config is None:
        path.unlink()
    else:
        path.write_text(config)
    collected = collect(tmp_path)
    assert len(collected.runs) == 0
    assert said in collected.problems[0]


def test_a_copied_run_counts_once(tmp_path: Path) -> None:
    write_run(tmp_path, 0.6)
    copied = write_run(tmp_path / "old copy", 0.6)
    collected = collect(tmp_path)
    assert len(collected.runs) == 1
    assert len(collected.problems) == 1
    assert "is the same run as" in collected.problems[0]
    assert str(copied) in collected.problems[0]


def test_failed_and_cut_off_runs(tmp_path: Path) -> None:
    failed, cut, broken = (
        run_folder(tmp_path, record("auc", 0.5) | {"method": name}) for name in ("dsq", "upm", "dllp_mae")
    )
    for folder in (failed, cut, broken):
        folder.mkdir(parents=True)
        (folder / "attempt").write_text("1")
    content = {"error": "loss is NaN\nat step 3", "type": "FloatingPointError", "traceback": "..."}
    (failed / "error.json").write_text(json.dumps(content))
    (broken / "error.json").write_text("{")
    collected = collect(tmp_path)
    reasons = {failure.point[2]: failure.reason for failure in collected.failed}
    assert reasons["dsq"] == "FloatingPointError: loss is NaN"
    assert "cannot be read" in reasons["dllp_mae"]
    assert [point[2] for point in collected.unfinished] == ["upm"]


def test_a_run_that_succeeded_later_is_not_failed(tmp_path: Path) -> None:
    folder = write_run(tmp_path, 0.6)
    (folder / "error.json").write_text("{}")
    collected = collect(tmp_path)
    assert (len(collected.runs), collected.failed) == (1, [])


def test_a_missing_folder_holds_nothing(tmp_path: Path) -> None:
    collected = collect(tmp_path / "none")
    assert (len(collected.runs), collected.failed, collected.problems) == (0, [], [])
