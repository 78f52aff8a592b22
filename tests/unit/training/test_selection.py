"""What picks the epoch, also where `protocol.select_by=auto` leaves it open, and what a sweeper is given: the same."""

import csv
import math

import numpy as np
import pytest

from llp.train import criterion
from llp.training.selection import ENOUGH_BAGS
from tests.helpers.composed import build_data, open_table, run_of, run_one, selects_by

MANY = ("grouping_key=random_4", "protocol.held_out=0.5")


def chosen(config):
    data = build_data(config, open_table(config), instance_labels=False)
    return len(data.held_out_bags) >= ENOUGH_BAGS, selects_by(config, data)


def test_auto_is_upm_of_enough_held_out_bags_with_labels_0_and_1(tiny):
    for words, expected in (
        (MANY, (True, "upm")),
        ((), (False, "bag_loss")),
        (("grouping_key=fixed_C1_4", MANY[1]), (True, "bag_loss")),
        ((*MANY, "dataset=synthetic_sscl", "method=dllp_mse"), (True, "bag_loss")),
        *(((*MANY, f"protocol.select_by={asked}"), (True, asked)) for asked in ("bag_loss", "debiased")),
    ):
        assert chosen(tiny("protocol=holdout", *words)) == expected


@pytest.mark.parametrize(
    ("overrides", "picked_by"),
    [
        (["protocol=holdout", *MANY], "held_out_upm"),
        (["protocol=holdout"], "held_out_loss"),
        (["protocol=holdout", "protocol.select_by=upm", "protocol.held_out=0.3"], "held_out_upm"),
        (["protocol=holdout", *MANY, "method=instance_bce"], "held_out_loss"),
        (["protocol=holdout", "method=group_prior"], None),
        ([], "test_auc"),
    ],
)
def test_record_and_log_say_what_picked_and_a_sweeper_is_given_it(tiny, overrides, picked_by, caplog):
    config = tiny(*overrides)
    caplog.set_level("INFO", "llp")
    record = run_one(config)
    assert record.metric.picked_by == picked_by
    assert (record.n_held_out_bags > 0) == (record.protocol == "holdout")
    told = f"{picked_by} over {record.n_held_out_bags} held-out bags picks the epoch"
    picks = (picked_by or "").startswith("held_out")
    assert (told in caplog.text) == ("picks the epoch" in caplog.text) == picks
    returned = criterion(record)
    if picks:
        with (run_of(config).folder / "metrics.csv").open() as file:
            assert returned == pytest.approx(min(float(row[picked_by]) for row in csv.DictReader(file)))
        assert returned != pytest.approx(record.metric.best)
    elif picked_by:
        assert returned == record.metric.best
        assert record.metric.held_out is None
    else:  # it does not train
        assert math.isnan(returned)
    np.testing.assert_equal(criterion(run_one(config)), returned)  # of the finished run
