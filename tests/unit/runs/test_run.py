"""A run's identity, folder and record: skipped when finished, done again when asked, an error when it fails."""

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from filelock import FileLock
from omegaconf import OmegaConf

import llp.runs.attempt
import llp.runs.outcome
import llp.runs.record
import llp.training.curve
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.files import write_atomically
from llp.runs.load import load_model
from llp.runs.record import SCHEMA
from tests.helpers.composed import build_data, build_method, open_table, record_of, run_of, run_one
from tests.helpers.cutting import CutOffError, moments


@pytest.fixture
def failing(monkeypatch):
    """Make the training fail at its first epoch's end."""

    def fail(*args, **kwargs):
        raise CutOffError("no space left")

    monkeypatch.setattr(llp.training.curve, "write_atomically", fail)
    return monkeypatch


def test_folder_spells_the_point(tiny, tmp_path):
    run = run_of(tiny("fold=3", "seed=7", "grouping_key=fixed_C1_C2_64"))
    expected = tmp_path / "outputs" / "synthetic" / "fixed_C1_C2_64" / "dllp_bce" / "fold=3" / "seed=7" / run.hash
    assert run.folder == expected
    assert len(run.hash) == 8


WITHOUT_EFFECT = [
    "outputs_dir=elsewhere", "logger=wandb", "num_workers=2", "save_model=true", "force=true", "checkpoint_minutes=0",
    "hardware.accelerator=auto", "hardware.row_order=bag",
]  # fmt: skip
WITH_EFFECT = [
    "fold=1", "seed=1", "method.reduction=sum", "optimizer.lr=0.5", "trainer.max_epochs=7", "trainer.patience=9",
    "trainer.threads=2", "trainer.bags_per_batch=4", "grouping_key.bag_size=128", "grouping_key.seed=1",
    "protocol.held_out=0.1", "dataset.seed=1", "method=dllp_mse", "model=linear",
]  # fmt: skip


def test_the_identity_follows_what_changes_the_result_alone(tiny):
    plain = run_of(tiny()).hash
    assert {run_of(tiny(override)).hash for override in WITHOUT_EFFECT} == {plain}
    assert len({plain, *(run_of(tiny(override)).hash for override in WITH_EFFECT)}) == len(WITH_EFFECT) + 1


def test_another_table_is_another_run(tiny):
    config = tiny()
    table = open_table(config)
    schema = json.loads((table.folder / "schema.json").read_text()) | {"source": {"bytes": 1}}
    other = InstanceTable(table.folder, type(table.schema)(**schema | {"columns": table.schema.columns}))
    assert run_of(config, other).hash != run_of(config, table).hash


def test_record_and_files_of_a_finished_run(tiny):
    config = tiny("method=dllp_mae", "checkpoint_minutes=0", "fold=2")
    record = run_one(config)
    run = run_of(config)
    assert record_of(config) == record
    assert sorted(path.name for path in run.folder.rglob("*") if path.is_file()) == [
        ".lock", "attempt", "config.yaml", "metrics.csv", "result.json", "run.log",
    ]  # fmt: skip
    assert (record.dataset, record.grouping_key, record.method) == ("synthetic", "random_64", "dllp_mae")
    assert (record.model, record.protocol, record.fold, record.seed) == ("mlp", "paper", 2, 0)
    assert record.config == run.config
    assert (record.label_kind, record.schema_version, record.attempt) == ("binary", SCHEMA, 1)
    assert (record.n_train_bags, record.n_train_instances, record.n_test_instances) == (25, 1600, 400)
    assert record.config_hash == run.hash
    metric, rows = record.metric, (run.folder / "metrics.csv").read_text().splitlines()
    assert (metric.name, metric.mode) == ("auc", "max")
    assert metric.best == record.measures["auc"] >= metric.last - 1e-7  # an epoch's measure is float32
    assert metric.last == float(rows[-1].split(",")[rows[0].split(",").index("test_auc")])
    [stage] = record.stages
    assert stage.epochs == len(rows) - 1
    assert (stage.method, stage.reused, stage.run) == ("dllp_mae", False, None)
    assert stage.seconds < record.seconds < 60
    assert set(record.versions) >= {"python", "torch", "lightning", "polars"}
    assert None not in record.versions.values()
    assert record.device
    text = (run.folder / "config.yaml").read_text()
    assert "${" not in text
    assert OmegaConf.create(text).method.loss == "mae"


def test_finished_run_is_skipped_and_done_again_with_force(tiny, monkeypatch, caplog):
    first = run_one(tiny())
    path = run_of(tiny()).result_path
    before = path.stat().st_mtime_ns
    with caplog.at_level(logging.INFO, "llp"):
        assert run_one(tiny()) == first
    assert "synthetic random_64 dllp_bce fold=0 seed=0: finished before, skipped" in caplog.text
    assert path.stat().st_mtime_ns == before
    again = run_one(tiny("force=true"))
    assert (again.attempt, again.measures) == (2, first.measures)
    assert path.stat().st_mtime_ns > before


def test_run_that_another_process_is_at_is_waited_for(tiny, caplog):
    config = tiny("method=group_prior")
    run = run_of(config)
    run.folder.mkdir(parents=True)
    waiting = threading.Event()

    class Heard(logging.Handler):
        def emit(self, record):
            waiting.set()

    with ThreadPoolExecutor() as pool, FileLock(run.folder / ".lock"):
        logging.getLogger("llp.files").addHandler(heard := Heard())
        second = pool.submit(run_one, config)
        assert waiting.wait(30)
        assert not run.result_path.exists()
        logging.getLogger("llp.files").removeHandler(heard)
    assert second.result().attempt == 1
    assert "synthetic random_64 group_prior fold=0 seed=0: another process is at it (lock " in caplog.text


def test_weights_are_kept_where_asked_and_where_others_start_from_them(tiny):
    asked, base, plain = (tiny(f"method={name}") for name in ("dllp_mae", "dllp_bce", "instance_bce"))
    run_one(asked)
    assert not run_of(asked).weights_path.exists()
    asked.save_model = True
    run_one(asked)  # finished, but without the weights that are asked for
    run_one(base)
    run_one(plain)
    assert [run_of(config).weights_path.exists() for config in (asked, base, plain)] == [True, True, False]
    assert record_of(asked).attempt == 2
    assert not list(run_of(base).folder.rglob("*.ckpt"))


def test_kept_weights_give_the_reported_metric(tiny, tmp_path):
    from llp.training.evaluation import evaluate

    config = tiny("grouping_key=fixed_C1_C2_64", "optimizer.lr=0.01")
    record = run_one(config)
    table = open_table(config)
    method = build_method(config, table)
    method.start_from(load_model(run_of(config).folder, table))
    assert evaluate(method, build_data(config, table, instance_labels=False)) == (record.measures, None)
    with pytest.raises(InputError, match=r"holds no kept weights .* train that run with save_model=true"):
        load_model(tmp_path, table)


def test_first_stage_is_trained_once_and_reused(tiny):
    config = tiny("method=hard_erot_llp")
    record = run_one(config)
    base, stage = record.stages
    first = run_of(tiny("method=dllp_bce"))
    assert base.run == str(first.folder)
    assert (base.method, base.reused, stage.reused) == ("dllp_bce", False, False)
    finished = first.result_path.stat().st_mtime_ns
    other = run_one(tiny("method=soft_erot_llp", "force=true")).stages
    assert [(stage.method, stage.reused) for stage in other] == [("dllp_bce", True), ("soft_erot_llp", False)]
    assert first.result_path.stat().st_mtime_ns == finished
    trained = torch.load(first.weights_path)
    assert all(torch.isfinite(weight).all() for weight in trained.values())


def test_failed_run_says_why_and_is_tried_again(tiny, failing, caplog):
    config = tiny()
    with pytest.raises(CutOffError):
        run_one(config)
    run = run_of(config)
    error = json.loads((run.folder / "error.json").read_text())
    assert (error["error"], error["type"]) == ("no space left", "CutOffError")
    assert "in fail" in error["traceback"]
    assert not run.result_path.exists()
    assert "no space left" in (run.folder / "run.log").read_text()
    failing.undo()
    assert run_one(config).attempt == 2
    assert not (run.folder / "error.json").exists()


def contents(folder):
    """Every file to the byte, times and all, but for those of the attempt."""
    others = ("run.log", "attempt", "error.json", ".lock")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in others]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("at", ["training", "record"])
def test_a_forced_run_that_fails_leaves_the_finished_result(tiny, monkeypatch, at):
    config = tiny("save_model=true")
    run_one(config)
    run = run_of(config)
    before = contents(run.folder)
    assert {"result.json", "metrics.csv", "config.yaml", "checkpoints/best.pt"} <= before.keys()

    def fail(*args, **kwargs):
        raise CutOffError

    broken = {"training": (llp.training.curve.Curve, "on_train_epoch_end"), "record": (llp.runs.outcome, "run_record")}
    monkeypatch.setattr(*broken[at], fail)
    with pytest.raises(CutOffError):
        run_one(tiny("save_model=true", "force=true"))
    after = contents(run.folder)
    assert {name: after[name] for name in before} == before
    assert run.finished() is not None
    monkeypatch.undo()
    again = run_one(tiny("force=true"))
    assert again.attempt == 3
    after = contents(run.folder)
    assert after.keys() == before.keys()  # also the weights, which this call did not ask for


def test_a_refused_option_leaves_the_finished_result(tiny):
    config = tiny()
    run_one(config)
    before = contents(run_of(config).folder)
    OmegaConf.update(config, "force", True)
    OmegaConf.update(config, "hardware.accelerator", "gpu")
    with pytest.raises(InputError):
        run_one(config)
    assert contents(run_of(config).folder) == before


@pytest.mark.parametrize(("force", "epochs"), [("false", 2), ("true", 4)])
def test_a_run_without_the_weights_that_are_asked_for_goes_on_where_it_was_cut_unless_forced(tiny, force, epochs):
    first = run_one(tiny("method=dllp_mae"))
    config = tiny("method=dllp_mae", "save_model=true", "checkpoint_minutes=0", f"force={force}")
    with moments(cut=11), pytest.raises(CutOffError):
        run_one(config)
    run = run_of(config)
    assert run.finished().attempt == 1
    with moments() as seen:
        assert run_one(config).measures == first.measures
    assert seen.count("epoch") == epochs
    assert run.weights_path.is_file()
    assert not (run.folder / "successor").exists()


@pytest.mark.parametrize("text", ["", "1.5", "\udcff", "9" * 5000])
def test_a_damaged_count_of_attempts(tiny, caplog, text):
    config = tiny("method=group_prior")
    run = run_of(config)
    run.folder.mkdir(parents=True)
    (run.folder / "attempt").write_bytes(text.encode(errors="surrogateescape"))
    assert run_one(config).attempt == 1
    assert "attempt is damaged: the attempts are counted from 1 again" in caplog.text


HALF = ".resume.0123456789abcdef.llp-part.ckpt"


@pytest.mark.parametrize(
    "name", ["checkpoints/resume.ckpt", "successor/checkpoints/resume.ckpt", f"checkpoints/{HALF}"]
)
def test_what_a_killed_attempt_left_beside_a_whole_record_is_removed(tiny, name):
    config = tiny()
    run_one(config)
    folder = run_of(config).folder
    before = set(folder.rglob("*"))
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"PK")
    with FileLock(folder / ".lock"):
        run_one(config)
        assert (folder / name).exists()  # the attempt that holds the lock is at work
    run_one(config)
    assert set(folder.rglob("*")) - before <= {folder / "checkpoints"}


@pytest.mark.parametrize("text", ["", "null", '{"schema": 1, "metric": {}}'])  # how else: results/test_collect.py
def test_record_that_is_damaged_earlier_or_something_else_is_said_and_done_again(tiny, text, caplog):
    config = tiny("method=group_prior")
    measures = run_one(config).measures
    run_of(config).result_path.write_text(text)
    again = run_one(config)
    assert (again.attempt, again.measures) == (2, measures)
    assert record_of(config) == again
    said = [entry.message for entry in caplog.records if "the run is done again" in entry.message]
    assert len(said) == 1
    assert said[0].startswith(str(run_of(config).result_path))


def test_record_of_a_later_version_is_not_overwritten(tiny):
    config = tiny("method=group_prior")
    path = run_of(config).result_path
    newer = run_one(config).model_dump() | {"schema_version": SCHEMA + 1, "more": 1}
    path.write_text(json.dumps(newer))
    with pytest.raises(InputError, match=rf"has schema {SCHEMA + 1}: .* reads schema {SCHEMA}; write force=true"):
        run_one(config)
    assert json.loads(path.read_text()) == newer
    assert run_one(tiny("method=group_prior", "force=true")).attempt == 2


@pytest.mark.parametrize("full", ["metrics.csv", "config.yaml", "attempt", "best.pt", "result.json", "error.json"])
def test_full_disk_is_told_in_a_line_and_costs_no_later_attempt(tiny, monkeypatch, caplog, full):
    def write(path, content):
        if path.name in (full, "error.json"):
            raise OSError(28, "No space left on device", str(path))
        write_atomically(path, content)

    for module in (llp.runs.attempt, llp.runs.outcome, llp.runs.record, llp.training.curve):
        monkeypatch.setattr(module, "write_atomically", write)
    if full == "error.json":
        assert run_one(tiny()).attempt == 1
        return
    with pytest.raises(OSError, match="No space left on device"):
        run_one(tiny())
    assert "No space left on device" in caplog.text
    assert "Traceback" not in caplog.text
    monkeypatch.undo()
    assert run_one(tiny()).attempt == (1 if full == "attempt" else 2)


def test_table_that_the_yaml_file_does_not_describe(tiny):
    config = tiny()
    config.dataset.label_kind = "real"
    config.method.labels = ["real"]
    with pytest.raises(InputError, match=r"dataset synthetic says label_kind: real, its table .* holds binary labels"):
        run_one(config)
    config = tiny()
    config.dataset.key_columns = ["C1", "Z"]
    with pytest.raises(InputError, match=r"dataset synthetic names the key column Z, which its table .* lacks"):
        run_one(config)
