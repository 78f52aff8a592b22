"""How often a criterion picks nearly the best epoch, from curves as runs leave them."""

import csv

import pytest

from benchmarks.selection import EARLY, OWN, lost, selection
from llp.results.collect import read_columns
from tests.helpers.composed import open_table, run_of, run_one
from tests.helpers.grids import contents_of
from tests.helpers.records import write_run

AUC = [0.60, 0.70, 0.697, 0.65]
BAG_LOSS = [0.50, 0.45, 0.44, 0.40]  # picks 0.65
UPM = [0.9, 0.8, 0.7, 0.75]  # picks 0.697


def write(outputs, fold, columns, **changes):
    folder = write_run(outputs, 0.6, fold=fold, **{"protocol": "holdout", "grouping_key": "random_64"} | changes)
    with (folder / "metrics.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def table_of(outputs):
    part = contents_of(outputs)
    return selection(part.cells, part.runs)


def test_picks_are_counted_by_method_and_criterion(tmp_path):
    both = {"test_auc": AUC, "held_out_loss": BAG_LOSS, "held_out_upm": UPM}
    write(tmp_path, 0, both, picked_by="held_out_loss")
    write(tmp_path, 1, both | {"held_out_loss": UPM, "test_auc": [0.7, *AUC[1:]]}, picked_by="held_out_upm")
    write(tmp_path, 0, {"test_auc": AUC, "held_out_loss": [1, 2, 3, 4]}, method="instance_bce")
    table = table_of(tmp_path)
    shown = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert table.columns == ["method", "bag_loss", "upm", "debiased", "easy_llp", OWN, EARLY]
    assert shown["dllp_bce"] == ["1 of 2 (0.0265)", "2 of 2 (0.0030)", "–", "–", "1 of 2 (0.0265)", "1 of 2"]
    assert shown["instance_bce"] == ["0 of 1 (0.1000)", *4 * ["–"], "0 of 1"]


def test_all_methods_with_every_criterion_stand_together_by_kind_of_bags(tmp_path):
    every = {"test_auc": AUC, "held_out_loss": BAG_LOSS} | {
        f"held_out_{one}": UPM for one in ("upm", "debiased", "easy_llp")
    }
    write(tmp_path, 0, every)
    write(tmp_path, 0, every, method="upm", grouping_key="random_256")
    write(tmp_path, 1, every | {"held_out_loss": UPM}, grouping_key="month_dest")
    write(tmp_path, 0, {"test_auc": AUC, "held_out_loss": UPM}, method="instance_bce")
    last = [[cell.text for cell in row] for row in table_of(tmp_path).rows[-2:]]
    assert last == [
        ["all, feature bags", *4 * ["1 of 1 (0.0030)"], "–", "0 of 1"],
        ["all, random bags", "0 of 2 (0.0500)", *3 * ["2 of 2 (0.0030)"], "–", "0 of 2"],
    ]


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
