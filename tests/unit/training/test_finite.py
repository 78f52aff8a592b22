"""A training whose numbers are no longer finite fails in one line, and nothing goes on from it."""

import json
import random
import shutil

import numpy as np
import pytest
import torch

from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.runs.load import load_model
from llp.training import finite
from tests.helpers.composed import open_table, run_of, run_one
from tests.helpers.every_method import TRAINED, composed
from tests.helpers.stages import stage_of

WHERE = r"in epoch \d+, after \d+ steps with the learning rate 1e\+38; expected finite numbers"


def assert_failed(config):
    folder = run_of(config).folder
    assert not (folder / "result.json").exists()
    assert not (folder / "checkpoints" / "best.pt").exists()
    assert "NaN" not in (folder / "error.json").read_text()
    error = json.loads((folder / "error.json").read_text())
    assert error["type"] == "InputError"
    assert "\n" not in error["error"]


@pytest.mark.parametrize("name", TRAINED[::3])
def test_training_that_diverges_fails(tiny, name):
    draw = random.Random(name)
    protocol, place = draw.choice(["paper", "holdout"]), draw.choice(["host", "device"])
    dataset = [] if "binary" in composed(name).method.labels else ["dataset=synthetic_sscl"]
    config = tiny(
        *dataset, f"method={name}", f"protocol={protocol}", f"hardware.features_on={place}", "optimizer.lr=1e38"
    )
    with pytest.raises(InputError, match=rf"^Training diverged: .* {WHERE}"):
        run_one(config)
    assert_failed(config)


def test_stage_does_not_train_on_from_one_that_diverged(tiny):
    config = tiny("method=hard_erot_llp", "optimizer.lr=1e38")
    for _ in range(2):
        with pytest.raises(InputError, match="Training diverged"):
            run_one(config)
    assert_failed(config)
    assert_failed(tiny("method=dllp_bce", "optimizer.lr=1e38"))
    other = tiny("method=dllp_bce", "save_model=true")
    run_one(other)
    path = run_of(other).folder / "checkpoints" / "best.pt"
    weights = torch.load(path, weights_only=True)
    next(iter(weights.values()))[0, 0] = float("inf")
    torch.save(weights, path)
    with pytest.raises(InputError, match=r"best\.pt holds weights that are not finite; .* force=true"):
        load_model(run_of(other).folder, open_table(other))


@pytest.mark.parametrize("place", ["host", "device"])
def test_loss_that_is_not_finite_stops_a_long_epoch(tiny, tmp_path, monkeypatch, place):
    monkeypatch.setattr(finite, "STEPS_BETWEEN_CHECKS", 3)
    monkeypatch.setattr("llp.data.datamodule.PER_CHUNK", 2)
    loss_of, taken = LLPMethod.batch_loss, []

    def batch_loss(self, batch):
        taken.append(batch)
        return loss_of(self, batch) * (float("nan") if len(taken) == 4 else 1)

    monkeypatch.setattr(LLPMethod, "batch_loss", batch_loss)
    with pytest.raises(InputError, match=r"the train loss is nan in epoch 0, after \d+ steps"):
        stage_of(tiny("trainer.bags_per_batch=1"), tmp_path, features_on=place)
    assert 4 <= len(taken) <= 8


def test_weight_that_is_not_finite_stops_the_epoch_that_it_came_in(tiny, tmp_path, monkeypatch):
    def after_step(self):
        if self.steps_taken == 7:  # the last of epoch 1: no loss is computed with it any more
            next(self.model.parameters()).data[-1, -1] = float("inf")

    monkeypatch.setattr(LLPMethod, "after_step", after_step)
    with pytest.raises(InputError, match=r"the weights \S+ are not finite in epoch 1, "):
        stage_of(tiny(), tmp_path)


def test_criterion_that_is_not_finite_picks_no_epoch(tiny):
    config = tiny("protocol=holdout", "protocol.held_out=0.5", "grouping_key=random_4", "protocol.select_by=upm",
                  "noise=laplace", "noise.epsilon=1e-22")  # fmt: skip
    with pytest.raises(InputError, match=r"held_out_upm, which picks the epoch, is (inf|nan) in epoch 0"):
        run_one(config)
    assert_failed(config)


@pytest.mark.parametrize(("protocol", "part"), [("paper", "train_bags"), ("holdout", "test_rows")])
def test_label_that_is_not_finite_is_refused(tiny, tmp_path, protocol, part):
    config = tiny(f"protocol={protocol}")
    _, _, data = stage_of(tiny("trainer.max_epochs=1"), tmp_path)
    rows = data.test_rows if part == "test_rows" else data.train_bags.rows
    source = open_table(config)
    shutil.copytree(source.folder, tmp_path / "table")
    label = np.load(tmp_path / "table" / "label.npy")
    label[rows[3]] = np.nan
    np.save(tmp_path / "table" / "label.npy", label)
    with pytest.raises(InputError, match=r"holds a label that is not a finite number"):
        stage_of(config, tmp_path, InstanceTable.open(tmp_path / "table"))
