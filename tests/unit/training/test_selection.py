"""What picks the epoch where `protocol.select_by=auto` leaves it open."""

import pytest

from llp.training.selection import ENOUGH_BAGS
from tests.helpers.composed import build_data, open_table, run_one, selects_by

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
