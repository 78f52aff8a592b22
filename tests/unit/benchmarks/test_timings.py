"""Timings: what ours is timed beside computes the same, as its users start it; what is projected; fits on reports."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks import predict, speed
from benchmarks.plain_torch import HIDDEN, WIDTH, Network, limit, training
from benchmarks.projection import Rates, project
from benchmarks.reports import measure
from llp.machine import prefer_speed
from llp.models.mlp import MLP


def test_the_network_beside_ours_gives_the_models_scores():
    model = MLP(vocab_sizes=[3, 5, 2], n_numeric=0, hidden=[WIDTH, HIDDEN])
    categorical = torch.tensor([[0, 4, 1], [2, 0, 0], [1, 1, 1]], dtype=torch.int32)
    net, of_shape = Network(nn.EmbeddingBag(10, WIDTH, mode="sum")), {one.shape: one for one in model.parameters()}
    for weight in net.parameters():
        weight.data.copy_(of_shape.pop(weight.shape))
    assert not of_shape
    torch.testing.assert_close(net(categorical + model.first.offset), model(categorical, torch.empty(3, 0)))


@pytest.mark.parametrize("what", ["adam", "sparse_adam", "limit"])
def test_what_ours_is_timed_beside_runs(what):
    given = {
        "n_rows": np.int64(10),
        "rows": np.random.default_rng(0).integers(0, 10, (2, 6, 3), np.int32),
        "segment": np.repeat([[0, 0, 0, 1, 1, 1]], 2, axis=0),
        "size": np.full((2, 2), 3),
        "proportion": np.full((2, 2), 0.5, np.float32),
    }
    rate, anonymous = limit(given) if what == "limit" else training(given, what)
    assert rate > 0
    assert anonymous > 0


def test_others_are_started_without_our_settings(monkeypatch, tmp_path):
    environments = []
    answer = SimpleNamespace(stdout='{"rate": 1, "anonymous": 2}\n')
    monkeypatch.setattr(speed.subprocess, "run", lambda *_, env, **__: environments.append(env) or answer)
    for name in speed.OUR_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    prefer_speed()
    assert {name: value for name, value in os.environ.items() if before.get(name) != value} == speed.OUR_SETTINGS
    for settings in ({}, speed.OUR_SETTINGS):
        assert speed.alternative(tmp_path, "adam", 2, **settings) == {"rate": 1, "anonymous": 2}
    assert [speed.OUR_SETTINGS.items() <= one.items() for one in environments] == [False, True]
    assert not speed.OUR_SETTINGS.keys() & environments[0].keys()


def test_steps_are_timed_of_methods_that_take_some(monkeypatch, tmp_path):
    monkeypatch.setattr(speed, "instances_per_second", lambda *overrides: len(overrides))
    monkeypatch.setattr(speed, "full_vocabulary", lambda *_: ())
    names = {line.what.split(",")[0] for line in speed.measure_methods(tmp_path)[0]}
    assert names >= {*speed.PAPER} - {"instance_bce"}
    assert not names & {"cell_glm", "distilled", "group_prior", "instance_bce"}


def test_the_bar_is_on_the_main_tables_at_early_stopping():
    lines = project(Rates(1e6, 1e7), bar="≤ 36")
    assert [line.bar for line in lines] == ["≤ 36", None, None, None]
    assert lines[1].value > 5 * lines[0].value


def test_measures_a_fit_and_a_choice():
    found = measure(3000, 3, chosen=True, strength=10.0)
    assert found.keys() == {"cells", "fit", "speed_up", "choice", "GiB"}
    assert all(value > 0 for value in found.values())


def test_scores_of_many_files_are_timed(monkeypatch, tmp_path):
    monkeypatch.setattr(predict, "FILE_ROWS", 500)
    found = {one.what: one.value for one in predict.measure(500 * (predict.DIFFERENT_FILES + 2), tmp_path)}
    assert "predict, 3,000 rows of 39 columns" in found
    assert "a table of 500 rows" in found
    assert min(found.values()) > 0
