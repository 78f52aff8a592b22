"""Training on chunks from data on the device: the same steps, draws and results as one minibatch a time."""

import csv
import inspect
import random
from collections import Counter

import lightning as L
import numpy as np
import pytest
import torch
from hydra.utils import get_class
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from llp.config.grouping_keys import CONF_DIR, options, read_option
from llp.config.schema import Hardware
from llp.data import datamodule
from llp.data.bags import make_bags
from llp.data.batch import BagBatch, InstanceBatch
from llp.data.minibatches import gather_bags
from llp.data.on_device import ResidentInstances, table_on
from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.methods.dllp import DLLP
from llp.training.place import ONCE_AN_EPOCH, keeps_on, own_hooks
from tests.helpers.commands import FEW
from tests.helpers.composed import build_data, build_method, check_build, open_table
from tests.helpers.cutting import CutOffError
from tests.helpers.stages import cut_off_after, same_weights, stage_of, untimed
from tests.helpers.tables import make_table

CPU = torch.device("cpu")
DEVICES = (CPU, torch.device("cuda"))


def assert_same(first, second):
    (stage, method, _), (other_stage, other, _) = first, second
    assert stage.measures == other_stage.measures
    assert stage.chosen.epoch == other_stage.chosen.epoch
    np.testing.assert_equal(untimed(stage.chosen.rows), untimed(other_stage.chosen.rows))
    assert same_weights(method.model, other.model)


@pytest.mark.parametrize("name", options("method"))
def test_chunks_train_as_single_minibatches_do(tiny, tmp_path, monkeypatch, name):
    """Also where torch refuses operations without a fixed order: no method has one."""
    monkeypatch.setattr(datamodule, "PER_CHUNK", 3)  # several chunks an epoch, the last one smaller
    dataset = [] if "binary" in read_option(f"method/{name}").labels else ["dataset=synthetic_sscl"]
    dataset += [FEW] if "queries" in read_option(f"method/{name}") else []  # by themselves hundreds, which take long
    protocol = random.Random(name).choice(["paper", "holdout"])
    config = tiny(*dataset, f"method={name}", "trainer.max_epochs=2", f"protocol={protocol}")
    host = stage_of(config, tmp_path / "host", features_on="host")
    try:
        assert_same(host, stage_of(config, tmp_path / "device", features_on="device", deterministic=True))
    finally:
        torch.use_deterministic_algorithms(False)


class Dropped(torch.nn.Module):
    """A model that draws from torch's own generator at each step."""

    def __init__(self, *, vocab_sizes, n_numeric):
        super().__init__()
        self.embeddings = torch.nn.ModuleList(torch.nn.Embedding(size, 2) for size in vocab_sizes)
        self.top = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(2 * len(vocab_sizes) + n_numeric, 1))

    def forward(self, categorical, numeric):
        parts = [embedding(codes.long()) for embedding, codes in zip(self.embeddings, categorical.T, strict=True)]
        return self.top(torch.cat([*parts, numeric], 1)).squeeze(1)


@pytest.mark.parametrize("first", ["host", "device"])
@pytest.mark.parametrize("then", ["host", "device"])
def test_training_is_the_same_either_way_and_resumed_whichever_way_it_came(tiny, tmp_path, first, then):
    """The model and genbags draw at each step: a wrong count of the steps taken would show."""
    config = tiny("method=genbags", "checkpoint_minutes=0", "trainer.max_epochs=3", "trainer.patience=4")
    config.model = {"_target_": f"{__name__}.Dropped", "name": "dropped"}
    whole = stage_of(config, tmp_path / "whole", features_on="host")
    torch.rand(1)  # whatever else the process draws
    assert_same(whole, stage_of(config, tmp_path / "again", features_on=then))
    with pytest.raises(CutOffError):
        stage_of(config, tmp_path / "cut", features_on=first, on_row=cut_off_after(1))
    assert_same(whole, stage_of(config, tmp_path / "cut", features_on=then))
    with (tmp_path / "cut" / "metrics.csv").open() as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["0", "1", "2"]


def test_value_that_a_method_logs_is_the_mean_over_minibatches_either_way(tiny, tmp_path, monkeypatch):
    """Feature bags, so that minibatches have many sizes."""
    config = tiny("grouping_key=C1_C23", "grouping_key.low_thresh=2", "trainer.max_epochs=2")
    loss_of = DLLP.bag_loss

    def logging_loss(self, scores, batch):
        loss = loss_of(self, scores, batch)
        self.log("own", loss, on_step=False, on_epoch=True)
        return loss

    monkeypatch.setattr(DLLP, "bag_loss", logging_loss)
    host = stage_of(config, tmp_path / "host", features_on="host")
    for row in host[0].chosen.rows:
        assert row["own"] == pytest.approx(row["train_loss"], rel=1e-5)
    assert_same(host, stage_of(config, tmp_path / "device", features_on="device"))


def test_method_with_its_own_hook_of_a_step_does_not_train_on_chunks(tiny, monkeypatch):
    """Lightning would call it once a chunk, or never, and the run would be another one without a word."""
    monkeypatch.setattr("llp.training.place.fits_on", lambda table, device: True)
    auto = Hardware(accelerator="auto", deterministic=False, features_on="auto", row_order="auto")
    host, device = tiny("hardware.features_on=host"), tiny("hardware.features_on=device")
    table = open_table(host)
    method, data = build_method(host, table), build_data(host, table, instance_labels=False)
    assert all(keeps_on(place, auto, data, method) for place in DEVICES)
    workers = build_data(tiny("num_workers=1"), table, instance_labels=False)
    assert not keeps_on(CPU, auto, workers, method)  # they are asked for, so they gather
    check_build(device, table)
    for hook in ("on_train_batch_start", "backward", "optimizer_step", "configure_optimizers", "all_gather"):
        with monkeypatch.context() as patch:
            patch.setattr(type(method), hook, lambda *args, hook=hook: getattr(LLPMethod, hook)(*args), raising=False)
            assert not any(keeps_on(place, auto, data, method) for place in DEVICES)
            check_build(host, table)
            with pytest.raises(InputError, match=rf" its own {hook}: .*, such as hardware.features_on=host$"):
                check_build(device, table)


def calls_of_hooks(config, folder, monkeypatch, place):
    """How often Lightning's hooks of a method are called in a training, and in what it does around it."""
    calls = Counter()
    for name in {*HOOKS}:
        original = getattr(LLPMethod, name)

        def hook(*args, original=original, name=name, **kwargs):
            calls[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(LLPMethod, name, hook)
    stage_of(config, folder, features_on=place)
    monkeypatch.undo()
    return calls


HOOKS = [
    name
    for base in L.LightningModule.__mro__
    if base.__module__.startswith("lightning.")
    for name, value in vars(base).items()
    if inspect.isfunction(value) and not name.startswith("_") and name != "configure_sharded_model"  # deprecated
]


def test_hooks_that_do_not_keep_a_method_from_chunks_are_called_as_often_either_way(tiny, tmp_path, monkeypatch):
    """A hook that Lightning calls at another place than it did, or no longer has, shows here."""
    monkeypatch.setattr(datamodule, "PER_CHUNK", 2)
    config = tiny("trainer.max_epochs=2", "checkpoint_minutes=0")
    host, device = (calls_of_hooks(config, tmp_path / place, monkeypatch, place) for place in ("host", "device"))
    once = ONCE_AN_EPOCH - {"forward", "teardown"}
    assert {*HOOKS} >= ONCE_AN_EPOCH
    assert {name: host[name] for name in once} == {name: device[name] for name in once}
    assert {name for name in once if host[name]} >= {"setup", "on_train_epoch_start", "validation_step"}
    other = {name for name in HOOKS if host[name] != device[name]}
    assert other >= {"training_step", "on_train_batch_start", "on_train_batch_end", "backward", "optimizer_step"}


def test_bag_order_without_effect_is_told(tiny, tmp_path, caplog):
    config = tiny("method=instance_bce", "hardware.row_order=bag", "trainer.max_epochs=1")
    data = stage_of(config, tmp_path, row_order="bag")[2]
    assert caplog.text.count("hardware.row_order=bag has no effect: InstanceMethod is trained on single instances") == 1
    assert data.source is data.table


def test_every_method_of_the_package_may_train_on_chunks():
    targets = [OmegaConf.load(CONF_DIR / "method" / f"{name}.yaml")["_target_"] for name in options("method")]
    assert [target for target in targets if own_hooks(get_class(target))] == []


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**31))
def test_minibatches_hold_their_bags_and_instances(tables_of, sizes, seed):
    table = tables_of
    rng = np.random.default_rng(seed)
    rows = rng.permutation(table.n_rows)[: sum(sizes)]
    bags = make_bags(rows, np.concatenate([[0], np.cumsum(sizes)]), table.label)
    ids = rng.permutation(len(sizes))[: rng.integers(1, len(sizes) + 1)]
    of_bags = np.concatenate([np.split(rows, bags.offsets[1:-1])[i] for i in ids])
    size = bags.sizes[ids]
    batch = gather_bags(table, bags, ids)
    wanted = (table.categorical[of_bags], table.numeric[of_bags], np.repeat(np.arange(len(ids)), size), size)
    assert isinstance(batch, BagBatch)
    assert all(np.array_equal(a, b) for a, b in zip(batch, (*wanted, bags.label_sum[ids]), strict=True))
    instances = ResidentInstances(table_on(table, CPU), rows)[ids]
    wanted = (table.categorical[rows[ids]], table.numeric[rows[ids]], table.label[rows[ids]])
    assert isinstance(instances, InstanceBatch)
    assert all(np.array_equal(a, b) for a, b in zip(instances, wanted, strict=True))


@pytest.fixture(scope="module")
def tables_of(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("table") / "t", n_numeric=2)


def test_runs_share_a_table_while_one_of_them_holds_it(tables_of):
    first = table_on(tables_of, CPU)
    assert table_on(tables_of, CPU) is first
