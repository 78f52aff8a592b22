"""Training of a stage: the chosen epoch, the early stop, and a run that was cut off and goes on."""

import os
import shutil
import signal

import numpy as np
import pytest
import torch

from llp import signals
from llp.data.batch import InstanceBatch
from llp.data.datamodule import LLPDataModule
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.methods.dllp import DLLP
from llp.training.evaluation import evaluate
from llp.training.selection import Monitor
from tests.helpers.composed import open_table, run_one
from tests.helpers.stages import same_weights, stage_of, untimed
from tests.helpers.tables import make_table

HALF = ("protocol=holdout", "protocol.held_out=0.4")


@pytest.mark.parametrize(("mode", "best"), [("max", 3.0), ("min", 1.0)])
def test_monitor_knows_what_is_better(mode, best):
    monitor = Monitor("x", mode)
    assert monitor.better(best, 2.0)
    assert not monitor.better(2.0, best)
    assert not monitor.better(best, best)
    assert not monitor.better(float("nan"), 2.0)
    assert monitor.better(2.0, float("nan"))


@pytest.mark.parametrize(
    ("dataset", "options", "name", "pick"),
    [
        ("synthetic", ["method=dllp_bce"], "test_auc", max),
        ("synthetic_sscl", ["method=dllp_mse"], "test_mse", min),
        ("synthetic", ["method=dllp_bce", "trainer.evaluate_every=0.5"], "test_auc", max),
        ("synthetic", ["method=dllp_bce", "protocol=holdout"], "held_out_loss", min),
        ("synthetic", ["method=upm", *HALF, "protocol.select_by=upm"], "held_out_upm", min),
        ("synthetic", ["method=upm", *HALF, "protocol.select_by=debiased"], "held_out_debiased", min),
        ("synthetic", ["method=instance_bce", *HALF, "protocol.select_by=upm"], "held_out_loss", min),
    ],
)
def test_run_ends_patience_epochs_after_its_best_epoch_whose_weights_it_keeps(
    tiny, tmp_path, dataset, options, name, pick
):
    patience = 2
    config = tiny(
        f"dataset={dataset}", *options, "trainer.max_epochs=60", f"trainer.patience={patience}", "optimizer.lr=0.02"
    )
    stage, method, data = stage_of(config, tmp_path)
    values = [row[name] for row in stage.chosen.rows]
    assert stage.chosen.early_stopped
    assert values[stage.chosen.epoch] == pick(values)
    assert len(values) == stage.chosen.epoch + 1 + patience < 60
    assert evaluate(method, data) == (stage.measures, None)
    if name in stage.chosen.rows[0] and name.startswith("test_"):
        # an epoch is measured in other batches than the end, hence the tolerance
        assert stage.measures[name.removeprefix("test_")] == pytest.approx(values[stage.chosen.epoch], rel=1e-6)
        assert stage.chosen.untrained is not None


class Hinge(LLPMethod):
    """A baseline of one's own, as docs/extend.md has it: `bag_loss` is given labelled instances."""

    sees_instance_labels = True

    def bag_loss(self, scores, batch):
        assert type(batch) is InstanceBatch
        return torch.relu(1 - (2 * batch.label - 1) * scores).mean()


@pytest.mark.parametrize("options", [[], HALF, [*HALF, "protocol.refit=true"]], ids=["paper", "holdout", "refit"])
@pytest.mark.parametrize("dataset", ["synthetic", "synthetic_sscl"])
def test_an_own_method_that_sees_instance_labels_writes_its_loss_alone(tiny, tmp_path, dataset, options):
    config = tiny(f"dataset={dataset}", *options, "method=instance_bce", "trainer.max_epochs=2", "optimizer.lr=0.02")
    config.method = {"_target_": f"{__name__}.Hinge", "name": "hinge", "labels": ["binary", "real"]}
    record = run_one(config)
    assert all(np.isfinite(value) for value in record.measures.values())
    stage, method, _ = stage_of(config, tmp_path)
    assert ("held_out_loss" in stage.chosen.rows[0]) == bool(options)
    z, label = torch.linspace(-2, 3, 4), torch.tensor([0.0, 1.0, 0.0, 1.0])
    h = torch.sigmoid(z)
    expected = -torch.where(label == 1, h, 1 - h).log() if dataset == "synthetic" else (z - label) ** 2
    torch.testing.assert_close(method.held_out_loss(z, InstanceBatch(z, z, label)).float(), expected)


def test_more_looks_at_the_same_training(tiny, tmp_path):
    options = ("trainer.max_epochs=3", "trainer.patience=50", "trainer.bags_per_batch=3")  # 9 minibatches an epoch
    once, _, _ = stage_of(tiny(*options), tmp_path / "once")
    often, _, _ = stage_of(tiny(*options, "trainer.evaluate_every=0.34"), tmp_path / "often")
    assert (len(once.chosen.rows), len(often.chosen.rows)) == (3, 9)
    for name in ("test_auc", "test_auc_200_thresholds"):
        assert [row[name] for row in often.chosen.rows[2::3]] == [row[name] for row in once.chosen.rows]
    assert often.measures["auc"] == pytest.approx(max(row["test_auc"] for row in often.chosen.rows), rel=1e-6)
    assert often.chosen.epoch in range(9)
    # 6 of 9 minibatches: looks that do not divide the epochs end before them
    some, _, _ = stage_of(tiny(*options[1:], "trainer.max_epochs=1", "trainer.evaluate_every=0.7"), tmp_path / "some")
    assert (len(some.chosen.rows), some.chosen.steps) == (1, 6)


def test_stop_at_the_first_epoch_that_is_no_better_is_an_early_stop(tiny, tmp_path):
    """One class in the test rows: the AUC is NaN from the first epoch on."""
    config = tiny("trainer.patience=1")
    source = open_table(config)
    folder = tmp_path / "zeros"
    shutil.copytree(source.folder, folder)
    np.save(folder / "label.npy", np.zeros(source.n_rows, np.float32))
    with pytest.warns(UserWarning, match=r"AUC is undefined: all 400 labels are negative"):
        stage, _, _ = stage_of(config, tmp_path, InstanceTable.open(folder))
    assert np.isnan(stage.measures["auc"])
    assert (stage.chosen.early_stopped, len(stage.chosen.rows), stage.chosen.epoch) == (True, 1, 0)


def test_holdout_touches_the_test_rows_once(tiny, tmp_path, monkeypatch):
    touched, test_loader = [], LLPDataModule.test_dataloader
    monkeypatch.setattr(LLPDataModule, "test_dataloader", lambda data: touched.append(data) or test_loader(data))
    stage, _, data = stage_of(tiny("protocol=holdout", "trainer.max_epochs=3"), tmp_path)
    assert touched == [data]
    assert all("test" not in name for row in stage.chosen.rows for name in row)
    assert stage.chosen.untrained is None
    assert 0 <= stage.measures["auc"] <= 1


@pytest.mark.parametrize("name", ["dllp_bce", "instance_bce", "genbags", "group_prior"])
def test_same_config_is_the_same_run_to_the_last_bit_for_any_number_of_workers(tiny, tmp_path, name):
    chosen = [f"method={name}", "trainer.max_epochs=2"]
    results = {
        run: stage_of(tiny(*chosen, *extra), tmp_path / run)
        for run, extra in {"a": [], "b": [], "workers": ["num_workers=2"], "seed": ["seed=1"]}.items()
    }
    first, first_method, _ = results["a"]
    for run in ("b", "workers"):
        assert results[run][0].measures == first.measures
        np.testing.assert_equal(untimed(results[run][0].chosen.rows), untimed(first.chosen.rows))
        assert same_weights(results[run][1].model, first_method.model)
    other = results["seed"][0].measures
    assert (other == first.measures) is (name == "group_prior")


def test_curve_has_what_a_dashboard_shows(tiny, tmp_path):
    stage, _, _ = stage_of(tiny("trainer.max_epochs=2", "trainer.patience=5"), tmp_path)
    assert not stage.chosen.early_stopped
    assert set(stage.chosen.rows[0]) == {
        "epoch", "train_loss", "bag_error", "test_auc", "test_auc_200_thresholds", "epoch_seconds",
        "instances_per_second",
    }  # fmt: skip
    assert [row["epoch"] for row in stage.chosen.rows] == [0, 1]
    assert all(row["instances_per_second"] * row["epoch_seconds"] >= 1600 for row in stage.chosen.rows)


def test_group_prior_predicts_the_bags_proportion_and_p_elsewhere(tmp_path, tiny):
    table = make_table(tmp_path / "t", n=900, sizes=(5, 7, 3))
    config = tiny("method=group_prior")
    config.dataset.key_columns = ["a", "b", "c"]
    config.grouping_key = {"kind": "feature", "columns": ["a", "b"], "low_thresh": 24, "high_thresh": 10_000}
    stage, method, data = stage_of(config, tmp_path, table)
    train, keys = data.train_bags.rows, np.asarray(table.categorical[:, :2]) @ [10, 1]
    batch = next(iter(data.test_dataloader()))
    prediction = method.predict(method(batch.categorical, batch.numeric)).numpy()
    expected = [table.label[train[keys[train] == keys[row]]].mean(dtype=np.float64) for row in data.test_rows]
    np.testing.assert_allclose(prediction, expected, atol=1e-6)
    assert stage.measures["auc"] == stage.chosen.untrained > 0.5
    assert (stage.chosen.rows, stage.chosen.epoch) == ([], -1)
    unknown = torch.zeros_like(batch.categorical)  # code 0 of a and b: is it in a kept bag?
    unknown[:, 0] = 99
    outside = method.predict(method(unknown, batch.numeric))
    np.testing.assert_allclose(outside, data.train_bags.label_mean, atol=1e-6)


def test_a_method_takes_its_train_split_once_before_anything_else(tiny, tmp_path, monkeypatch):
    seen = []
    take = DLLP.take_train_split

    def watched(method, split):
        seen.append((split, method.steps_taken))
        take(method, split)

    monkeypatch.setattr(DLLP, "take_train_split", watched)
    _, _, data = stage_of(tiny("method=dllp_bce"), tmp_path)
    assert [steps for _, steps in seen] == [0]
    assert seen[0][0].bags is data.train_bags


def test_a_method_whose_steps_are_not_counted_is_told_what_to_call(tiny, tmp_path, monkeypatch):
    """The count keys the draws of each step: without it, all steps would draw the same."""
    monkeypatch.setattr(DLLP, "on_train_batch_end", lambda self, outputs, batch, batch_idx: None, raising=False)
    with pytest.raises(RuntimeError, match=r"^DLLP has counted 0 of 4 steps: call super\(\) in its on_train_batch_end"):
        stage_of(tiny(), tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stage_that_a_signal_stops_says_which_and_goes_on_later(tiny, tmp_path, number):
    config = tiny("checkpoint_minutes=0", "trainer.max_epochs=6")
    whole, _, _ = stage_of(config, tmp_path / "whole")

    def on_row(row):
        if row["epoch"] == 2:
            os.kill(os.getpid(), number)

    with pytest.raises(signals.Stopped) as stopped:
        stage_of(config, tmp_path / "cut", on_row=on_row)
    assert (stopped.value.number, stopped.value.code) == (number, 128 + number)
    stage, _, _ = stage_of(config, tmp_path / "cut")
    assert stage.measures == whole.measures
    np.testing.assert_equal(untimed(stage.chosen.rows), untimed(whole.chosen.rows))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("protocol.held_out=0.05", "protocol.select_by=upm"),
            "protocol.select_by='upm': .* 3 held-out bags and there are",
        ),
        (("protocol.held_out=0.99",), "protocol.held_out=0.99: .* none of the 25 train bags is left"),
    ],
)
def test_share_that_holds_out_too_few_or_all_bags_is_refused(tiny, tmp_path, words, said):
    with pytest.raises(InputError, match=f"^Invalid {said}"):
        stage_of(tiny("protocol=holdout", *words), tmp_path)


def test_checkpoint_is_written_at_most_every_few_minutes(tiny, tmp_path):
    stage_of(tiny(), tmp_path / "a")
    assert not (tmp_path / "a" / "resume.ckpt").exists()
    stage_of(tiny("checkpoint_minutes=0"), tmp_path / "b")
    assert (tmp_path / "b" / "resume.ckpt").exists()
