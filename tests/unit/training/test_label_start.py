"""Scores start at the pooled label mean, and real labels are learnt whatever their unit, from the bags' sums alone."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import logit

from llp.config.grouping_keys import options, read_option
from llp.data.bags import Bags
from llp.data.label_unit import AS_GIVEN, LabelUnit
from llp.methods.base import RAREST
from llp.methods.dllp import DLLP
from llp.methods.group_prior import GroupPrior
from llp.models.label_start import begun
from tests.helpers.composed import build_method, composition, start_of
from tests.helpers.every_method import class_of
from tests.helpers.minibatches import make_method
from tests.helpers.stages import stage_of, start
from tests.helpers.tables import write_table

STEPPING = [name for name in options("method") if not class_of(name).solves]  # one that solves has a model of its own
REAL = [name for name in STEPPING if "real" in read_option(f"method/{name}").labels]
BINARY = [name for name in STEPPING if "binary" in read_option(f"method/{name}").labels]
UNITS = {  # a, b and the protocol
    "thousands": (1000.0, 4000.0, "paper"),
    "far from 0": (100.0, 1e5, "holdout"),
    "small": (1e-3, 0.0, "holdout"),
}


def made_table(folder, label, label_kind="real", n=2000):
    """Codes of two columns, of which the label is a function but for noise of its own."""
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, size, n) for size in (5, 8)], 1).astype(np.int32)
    values = label(codes.sum(1) - 5.5 + rng.normal(size=n)).astype(np.float32)
    return write_table(folder, {"C1": 5, "C2": 8}, codes, values, label_kind=label_kind)


def composed(name, label_kind, *overrides):
    dataset = {"real": "dataset=synthetic_sscl", "binary": "dataset=synthetic"}[label_kind]
    words = ("grouping_key=random_20", "trainer.max_epochs=3", "optimizer.lr=0.01", *overrides)
    model = () if name == "mean_map" else ("model=mlp",)
    return composition("train", dataset, f"method={name}", *model, *words)


def predicted(method, table):
    """Predictions of all rows."""
    with torch.no_grad():
        scores = method.score(torch.tensor(table.categorical), torch.tensor(table.numeric))
    return method.predict(scores).double().numpy()


def predictions(config, folder, table):
    """Predictions of all rows, and the stage that gave them."""
    stage, *_ = stage_of(config, folder, table)
    return predicted(stage.method, table), stage


@pytest.mark.parametrize(("name", "unit"), zip(REAL, itertools.cycle(UNITS), strict=False))
def test_labels_in_another_unit_give_the_same_predictions_in_that_unit(tmp_path, name, unit):
    a, b, protocol = UNITS[unit]
    config = composed(name, "real", f"protocol={protocol}")
    plain, of_plain = predictions(config, tmp_path, made_table(tmp_path / "plain", lambda y: y))
    scaled, of_scaled = predictions(config, tmp_path, made_table(tmp_path / "scaled", lambda y: a * y + b))
    np.testing.assert_allclose((scaled - b) / a, plain, atol=0.02 if unit == "far from 0" else 2e-3)
    assert plain.std() > 0.05 or not class_of(name).trains
    mse = of_scaled.measures["mse"] / a**2, of_plain.measures["mse"]  # measures are in the labels' own unit
    assert mse[0] == pytest.approx(mse[1], rel=0.02)
    for one, other in zip(of_scaled.chosen.rows, of_plain.chosen.rows, strict=True):
        assert one["bag_error"] / a == pytest.approx(other["bag_error"], rel=0.02, nan_ok=True)
        if protocol == "holdout":
            assert one["held_out_loss"] / a**2 == pytest.approx(other["held_out_loss"], rel=0.02)


@pytest.mark.parametrize("name", BINARY)
def test_scores_of_binary_labels_start_at_the_pooled_mean(tmp_path, name):
    def rare(y):
        return (y > np.quantile(y, 0.98)).astype(np.float32)

    table = made_table(tmp_path / "table", rare, "binary")
    method, data = start(composed(name, "binary"), table)
    found = predicted(method.eval(), table)
    # but for the network's own first scores
    assert logit(found).mean() == pytest.approx(logit(data.train_bags.label_mean), abs=0.3 + logit(found).std())
    assert logit(found).mean() < -3


@pytest.mark.parametrize("mean", [-0.3, 0.0, 1.0, 1.7])
def test_pooled_mean_outside_0_and_1_starts_inside(tmp_path, mean):
    table = made_table(tmp_path / "table", lambda y: (y > 0).astype(np.float32), "binary")
    config = composed("dllp_bce", "binary")
    method, data = start_of(config, table)
    split = data.train_split
    noisy = replace(split, bags=replace(split.bags, label_sum=mean * split.bags.sizes.astype(float)))
    method.take_start(noisy)
    expected = logit(RAREST) if mean <= 0 else -logit(RAREST)
    assert float(begun(method.model, torch.zeros(1))) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", ["random", "like"])
def test_scale_lies_between_what_like_and_random_instances_say(kind):
    rng = np.random.default_rng(1)
    y = rng.normal(7, 3, 64_000)
    y = np.sort(y) if kind == "like" else y
    offsets = np.arange(0, 64_001, 64)
    unit = LabelUnit.of(Bags(np.arange(64_000), offsets, np.add.reduceat(y, offsets[:-1])))
    assert unit.mean == pytest.approx(7, abs=0.05)
    off = unit.scale / 3
    assert off == pytest.approx(64**0.25 if kind == "like" else 64**-0.25, rel=0.05)
    bags = Bags(np.arange(64_000), offsets, np.add.reduceat(y, offsets[:-1]))
    assert LabelUnit.of(bags, most=0.5).scale == 0.5


def test_noise_widens_the_scale_up_to_half_the_labels_range_at_most(tmp_path):
    table = made_table(tmp_path / "table", lambda y: np.clip(y, -6, 6))
    noise = ("noise=laplace", "noise.epsilon=0.01", "noise.sensitivity=12")
    _, noisy = start_of(composed("dllp_mse", "real", *noise), table)
    _, plain = start_of(composed("dllp_mse", "real"), table)
    assert plain.train_split.unit.scale < 6 == noisy.train_split.unit.scale


def test_method_that_wants_labels_as_given_gets_them(tmp_path):
    class AsGiven(DLLP):
        labels_as_given = True

    table = made_table(tmp_path / "table", lambda y: 1000 * y + 4000)
    method, data = start_of(composed("group_prior", "real"), table)
    assert isinstance(method, GroupPrior)
    assert data.train_split.unit == AS_GIVEN
    model = build_method(composed("dllp_mse", "real"), table).model
    own = make_method(AsGiven, model=model, loss="mse", target="proportion", reduction="mean")
    own.take_start(data.train_split)
    assert float(begun(own.model, torch.ones(1))) == 1.0


def test_authors_start_is_what_runs_of_before_had(tmp_path):
    """A run's config of before has no `protocol.start`: its numbers come out again."""
    table = made_table(tmp_path / "table", lambda y: y)
    config = composed("dllp_mse", "real", "protocol.start=authors")
    before = composed("dllp_mse", "real", "~protocol.start")
    first, second = (predictions(one, tmp_path, table)[0] for one in (config, before))
    np.testing.assert_array_equal(first, second)


def test_bags_of_one_mean_are_left_in_their_unit():
    bags = Bags(np.arange(20), np.array([0, 10, 20]), np.array([40.0, 40.0]))
    assert LabelUnit.of(bags) == LabelUnit(4.0, 1.0)
    assert AS_GIVEN.of_bags(bags) is bags
