"""How often a criterion picks nearly the best epoch, from curves as runs leave them."""

import pytest

from benchmarks.selection import lost
from llp.results.collect import read_columns
from tests.helpers.composed import open_table, run_of, run_one


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ({"test_auc": [0.5, 0.75], "held_out_loss": [1.0, 1.0]}, 0.25),  # equal values: the first
        ({"test_auc": [float("nan"), 0.75], "held_out_loss": [0.1, 1.0]}, 0.0),
        ({"test_auc": [0.5], "held_out_loss": []}, None),
        ({"test_auc": [], "held_out_loss": [1.0]}, None),
    ],
)
def test_lost_auc_of_a_curve(curve, expected):
    assert lost(curve, "bag_loss") == expected


@pytest.mark.run
def test_a_runs_curve_holds_both_and_its_choice_is_the_same(tiny):
    written = []
    for option in ("false", "true"):
        words = ["protocol=holdout", "grouping_key=random_16", "method=upm", "trainer.max_epochs=3"]
        config = tiny(*words, f"protocol.test_in_curve={option}")
        record = run_one(config)
        columns = ["test_auc", "held_out_loss", "held_out_upm", "held_out_debiased", "held_out_easy_llp"]
        written.append((record, read_columns(run_of(config, open_table(config)).folder, columns)))
    (without, unseen), (record, curve) = written
    assert (record.metric.best_epoch, record.metric.held_out, record.metric.best) == (
        without.metric.best_epoch, without.metric.held_out, without.metric.best,
    )  # fmt: skip
    assert curve["test_auc"][record.metric.best_epoch] == pytest.approx(record.metric.best)
    assert all(value != value for value in unseen["test_auc"])
    assert {name: values for name, values in curve.items() if name != "test_auc"} == {
        name: values for name, values in unseen.items() if name != "test_auc"
    }
    assert lost(curve, "upm") is not None
