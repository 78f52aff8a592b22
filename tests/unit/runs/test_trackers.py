"""TensorBoard and MLflow: one run of theirs per run of ours, resumed with it, and no run lost with them.

TensorBoard is the real one; MLflow's client, whose packages weigh as much as all others, is one in memory.
"""

import logging
import sys
from operator import attrgetter
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

import llp.training.curve
from llp.errors import InputError
from llp.runs import tracking
from tests.helpers.composed import record_of, run_of, run_one
from tests.helpers.cutting import CutOffError, moments

SMALL = ("trainer.max_epochs=3", "checkpoint_minutes=0")


class Client:
    """The part of `MlflowClient` that Lightning's logger calls."""

    runs, gone = {}, False

    def __init__(self, uri=None):
        self.uri = uri

    def get_run(self, run_id):
        return self.runs[run_id]

    def get_experiment_by_name(self, name):
        return SimpleNamespace(experiment_id=name, lifecycle_stage="active")

    def create_run(self, experiment_id, tags):
        info = SimpleNamespace(run_id=f"run {len(self.runs)}", experiment_id=experiment_id, status="RUNNING")
        data = SimpleNamespace(metrics={}, params={}, tags=tags)
        self.runs[info.run_id] = SimpleNamespace(info=info, data=data, points=[])
        return self.runs[info.run_id]

    def log_batch(self, run_id, metrics=(), params=()):
        if self.gone:
            raise ConnectionError("the server has gone\nand more")
        run = self.runs[run_id]
        run.data.params |= dict(params)
        run.data.metrics |= {key: value for key, value, _, _ in metrics}
        run.points += [(key, step, value) for key, value, _, step in metrics]

    def update_run(self, run_id, status):
        self.runs[run_id].info.status = status

    set_terminated = update_run


@pytest.fixture
def mlflow(monkeypatch):
    from lightning.pytorch.loggers import mlflow as of_lightning

    package = MagicMock(__spec__=SimpleNamespace(name="mlflow"))
    package.tracking.MlflowClient, package.tracking.context.resolve_tags = Client, dict
    package.utils.mlflow_tags.MLFLOW_RUN_NAME = "mlflow.runName"
    package.entities.Param = lambda key, value: (key, value)
    package.entities.Metric = lambda key, value, timestamp, step: (key, value, timestamp, step)
    for name in ("", ".tracking", ".tracking.context", ".utils", ".utils.mlflow_tags", ".entities"):
        monkeypatch.setitem(sys.modules, f"mlflow{name}", attrgetter(name[1:])(package) if name else package)
    monkeypatch.setattr(of_lightning, "_MLFLOW_AVAILABLE", True)
    monkeypatch.setattr(Client, "runs", {})
    monkeypatch.setattr(Client, "gone", False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Client


def test_a_run_that_was_cut_off_is_one_run_of_mlflows_with_each_epoch_once(tiny, mlflow):
    config = tiny("logger=mlflow", *SMALL)
    with moments() as seen:
        whole = run_one(tiny(*SMALL, f"outputs_dir={config.outputs_dir}/whole"))
    ends = [i for i, what in enumerate(seen) if what == "epoch"]
    with moments(cut=ends[1]), pytest.raises(CutOffError):
        run_one(config)
    [run] = mlflow.runs.values()
    assert run.info.status == "FAILED"
    record = run_one(config)
    [run] = mlflow.runs.values()
    assert run.info.status == "FINISHED"
    assert record.metric == whole.metric
    epochs = [value for key, _, value in run.points if key == "epoch"]
    assert epochs == sorted({*epochs}) == [0, 1, 2][: len(epochs)]
    assert run.data.metrics["measures/auc"] == record.measures["auc"]
    assert run.data.tags["hash"] == record.config_hash
    assert run.data.tags["mlflow.runName"] == "synthetic random_64 dllp_bce fold=0 seed=0"
    assert run.data.params["method/name"] == "dllp_bce"
    config.force = True
    run_one(config)
    assert [one.info.status for one in mlflow.runs.values()] == ["FINISHED", "FINISHED"]


def test_a_server_that_goes_loses_no_run_and_is_told_once(tiny, mlflow, monkeypatch, caplog):
    log_epoch = llp.training.curve.Curve.on_train_epoch_end

    def goes(self, *given):
        mlflow.gone = True
        log_epoch(self, *given)

    monkeypatch.setattr(llp.training.curve.Curve, "on_train_epoch_end", goes)
    config = tiny("logger=mlflow", *SMALL)
    with caplog.at_level(logging.WARNING):
        run_one(config)
    assert record_of(config).metric.best > 0
    told = [line for line in caplog.messages if "mlflow" in line]
    assert told == ["logger=mlflow: the server has gone; the run goes on, and is no longer logged there"]


def test_a_server_that_never_was_there_is_an_error_in_a_line(tiny, mlflow):
    mlflow.gone = True
    expected = r"^logger=mlflow: the server has gone; expected .*, such as logger.tracking_uri=http://localhost:5000$"
    with pytest.raises(InputError, match=expected):
        run_one(tiny("logger=mlflow", *SMALL))


@pytest.mark.parametrize("name", ["tensorboard", "mlflow"])
def test_a_missing_package_is_told_before_any_work(tiny, monkeypatch, name):
    monkeypatch.setattr(tracking.importlib.util, "find_spec", lambda name: None)
    config = tiny(f"logger={name}")
    with pytest.raises(InputError, match=rf"^Invalid logger={name}: expected .*, such as pip install {name}, or "):
        run_one(config)
    assert not run_of(config).folder.exists()


def test_a_run_that_was_cut_off_is_one_curve_of_tensorboards(tiny):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = tiny("logger=tensorboard", *SMALL)
    with moments(cut=8), pytest.raises(CutOffError):
        run_one(config)
    record = run_one(config)
    [folder] = (run_of(config).folder / "tensorboard").iterdir()
    events = EventAccumulator(str(folder)).Reload()
    assert [point.step for point in events.Scalars("test_auc")] == list(range(record.stages[-1].epochs))
    assert max(point.value for point in events.Scalars("test_auc")) == pytest.approx(record.metric.best)
    assert events.Scalars("measures/auc")[-1].value == pytest.approx(record.measures["auc"])
