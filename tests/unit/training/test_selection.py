"""What picks the epoch, also where `protocol.select_by=auto` leaves it open, and what a sweeper is given: the same."""

import csv
import math

import pytest

from llp.train import criterion
from llp.training.selection import ENOUGH_BAGS
from tests.helpers.composed import build_data, open_table, record_of, run_of, run_one, selects_by

MANY = ("grouping_key=random_4", "protocol.held_out=0.5")


def chosen(config):
    data = build_data(config, open_table(config), instance_labels=False)
    return len(data.held_out_bags) >= ENOUGH_BAGS, selects_by(config, data)


def test_auto_is_upm_of_enough_held_out_bags_with_labels_0_and_1(tiny):
    assert chosen(tiny("protocol=holdout", *MANY)) == (True, "upm")
    assert chosen(tiny("protocol=holdout")) == (False, "bag_loss")
    assert chosen(tiny("protocol=holdout", "grouping_key=fixed_C1_4", MANY[1])) == (True, "bag_loss")
    assert chosen(tiny("protocol=holdout", *MANY, "dataset=synthetic_sscl", "method=dllp_mse")) == (True, "bag_loss")


@pytest.mark.parametrize("asked", ["bag_loss", "debiased"])
def test_what_is_asked_for_picks(tiny, asked):
    assert chosen(tiny("protocol=holdout", *MANY, f"protocol.select_by={asked}")) == (True, asked)


@pytest.mark.run
@pytest.mark.parametrize(
    ("overrides", "picked_by"),
    [
        (["protocol=holdout", *MANY], "held_out_upm"),
        (["protocol=holdout"], "held_out_loss"),
        (["protocol=holdout", *MANY, "method=instance_bce"], "held_out_loss"),
        (["protocol=holdout", "method=group_prior"], None),
        ([], "test_auc"),
    ],
)
def test_record_says_what_picked(tiny, overrides, picked_by, caplog):
    config = tiny(*overrides)
    caplog.set_level("INFO", "llp")
    record = run_one(config)
    assert record.metric.picked_by == picked_by
    assert (record.n_held_out_bags > 0) == (record.protocol == "holdout")
    told = f"{picked_by} over {record.n_held_out_bags} held-out bags picks the epoch"
    picks = (picked_by or "").startswith("held_out")
    assert (told in caplog.text) == ("picks the epoch" in caplog.text) == picks


def curve_of(config, name):
    with (run_of(config).folder / "metrics.csv").open() as file:
        return [float(row[name]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("overrides", "column"),
    [
        (["method=dllp_bce"], "held_out_loss"),
        (["method=instance_bce"], "held_out_loss"),
        (["method=dllp_bce", "protocol.select_by=upm", "protocol.held_out=0.3"], "held_out_upm"),
    ],
)
def test_under_holdout_it_is_what_picked_the_epoch(tiny, overrides, column):
    config = tiny("protocol=holdout", *overrides)
    returned = criterion(run_one(config))
    assert returned == pytest.approx(min(curve_of(config, column)))
    assert returned != pytest.approx(record_of(config).metric.best)
    assert criterion(run_one(config)) == returned  # of the finished run


def test_under_paper_it_is_the_test_metric(tiny):
    config = tiny()
    assert criterion(run_one(config)) == record_of(config).metric.best
    assert record_of(config).metric.held_out is None


def test_a_method_without_training_has_no_held_out_loss(tiny):
    assert math.isnan(criterion(run_one(tiny("protocol=holdout", "method=group_prior"))))
