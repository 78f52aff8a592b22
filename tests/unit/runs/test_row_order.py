"""Runs on a copy of the table in the order of the bags end as those on the table, to the last bit."""

import json
import logging

import pytest
import torch

from llp.data import bag_order
from llp.data.bag_order import copies_of
from llp.errors import InputError
from tests.helpers.composed import build_data, open_table, run_of, run_one
from tests.helpers.cutting import untimed_curves, untimed_record

HOLDOUT = ("protocol=holdout", "protocol.held_out=0.3")
FEATURE = ("grouping_key=C1_C2", "grouping_key.low_thresh=2", *HOLDOUT)
POINTS = {
    "paper, gathered by workers": ("method=dllp_bce", "hardware.features_on=host", "num_workers=2"),
    "a first stage, refitted": ("method=ot_llp", *FEATURE, "protocol.refit=true"),
    "noise": ("method=dllp_bce", "noise=laplace", *HOLDOUT, "protocol.test_in_curve=true"),
    "sums over the table": ("method=mean_map", *HOLDOUT),
    "single instances": ("method=instance_bce",),
}


@pytest.mark.run
@pytest.mark.parametrize("name", POINTS)
def test_run_on_a_copy_ends_as_on_the_table(tiny, tmp_path, name):
    made = []
    for order in ("table", "bag"):
        config = tiny(*POINTS[name], "trainer.max_epochs=2", f"hardware.row_order={order}", "save_model=true",
                      f"outputs_dir={tmp_path / order}")  # fmt: skip
        record = json.loads(run_one(config).model_dump_json())
        run = run_of(config)
        weights = {path.name: torch.load(path, weights_only=True) for path in run.folder.glob("checkpoints/*.pt")}
        made.append((run.hash, untimed_record(record), untimed_curves(tmp_path / order), weights))
    (*expected, weights), (*found, others) = made
    assert json.dumps(expected) == json.dumps(found)
    assert weights.keys() == others.keys()
    for one, kept in weights.items():
        assert all(torch.equal(kept[part], others[one][part]) for part in kept)


def data_of(tiny, *overrides):
    config = tiny(*overrides)
    table = open_table(config)
    return table, build_data(config, table, instance_labels=False)


@pytest.mark.parametrize(("free", "copied"), [(0, True), (2**40, False)])
def test_copy_is_made_where_the_table_exceeds_the_free_memory(tiny, monkeypatch, free, copied):
    monkeypatch.setattr("llp.training.place.free_memory", lambda: free)
    table, data = data_of(tiny)
    assert (data.source.folder.parent == copies_of(table)) is copied


def test_table_on_a_gpu_needs_no_copy(tiny, monkeypatch):
    monkeypatch.setattr("llp.training.place.free_memory", lambda: 0)
    monkeypatch.setattr("llp.training.place.device_of", lambda hardware: torch.device("cuda"))
    monkeypatch.setattr("llp.training.place.fits_on", lambda table, device: True)
    for features_on, copied in (("auto", False), ("host", True)):
        table, data = data_of(tiny, f"hardware.features_on={features_on}")
        assert (data.source is table) is not copied


def test_copy_without_room_ends_the_run_if_asked_for_and_else_the_table_is_read(tiny, monkeypatch, caplog):
    def full(copies, need):
        raise InputError("no room")

    monkeypatch.setattr(bag_order, "_make_room", full)
    monkeypatch.setattr("llp.training.place.free_memory", lambda: 0)
    options = ("grouping_key=random_32",)  # of which no test has made a copy
    with pytest.raises(InputError, match="no room"):
        data_of(tiny, *options, "hardware.row_order=bag")
    with caplog.at_level(logging.WARNING):
        table, data = data_of(tiny, *options)
    assert data.source is table
    assert "exceeds the free memory and is read slowly: no room" in caplog.text
