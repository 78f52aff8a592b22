"""What the command returns to a sweeper: the value that picked the epoch."""

import csv
import math

import pytest

from llp.train import criterion
from tests.helpers.composed import record_of, run_of, run_one

pytestmark = pytest.mark.run  # trains


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
