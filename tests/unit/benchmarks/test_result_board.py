"""The board, the six measures and the study of rates."""

import numpy as np
import pytest

from benchmarks.records import SOURCE
from benchmarks.result_board import board_of, measures_of, narrowed
from benchmarks.result_rates import fixed_rates, regrets_of
from tests.helpers.records import record, stage

TABLES = ("a", "b", "c", "d")
SCORES = {"upm": 0.7, "dllp_bce": 0.65, "count": 0.651, "instance_bce": 0.9}


@pytest.fixture
def records():
    """Runs of four methods on two bag datasets each of four tables: 3 seeds of 3 folds, the constant beside."""
    rng, found = np.random.default_rng(0), []
    for dataset in TABLES:
        for key, kind in (("random_64", "random"), ("month", "feature")):
            for fold, seed in np.ndindex(3, 3):
                for method, score in SCORES.items():
                    auc = score + 1e-3 * rng.normal()
                    measures = {"auc": auc, "log_loss": 1 - auc, "constant_auc": 0.5, "constant_log_loss": 0.5}
                    measures |= dict.fromkeys(("average_precision", "brier", "calibration_error"), 0.1)
                    measures |= {f"constant_{one}": 0.2 for one in ("average_precision", "brier", "calibration_error")}
                    ratio = "mean_prediction_over_mean_label"
                    measures |= {ratio: 1.1, f"constant_{ratio}": 1.0}
                    found.append(record(
                        "auc", auc, dataset=dataset, grouping_key=key, bag_kind=kind, method=method, measures=measures,
                        protocol="holdout", fold=fold, seed=seed, stages=[stage(seconds=3.0 if method == "upm" else 1)],
                        n_train_instances=800, n_test_instances=200,
                        config={"protocol": {"folds": "by_seed"}},
                    ))  # fmt: skip
    return found


def test_a_board_ranks_the_methods_on_bags_and_the_constant(records):
    rows = [line.split(" | ") for line in board_of(records).splitlines() if line.startswith("|")]
    assert [row[0].strip("| *") for row in rows[2:]] == ["upm", "count", "dllp_bce", "constant"]
    upm, count, reference, constant = rows[2:]
    # rank, interval, groups, near, beyond the reference, better, worse, time
    assert (upm[1], upm[2], upm[4], upm[6:8]) == ("1.00", "1.00–1.00", "8", ["8", "0"])
    assert upm[8] == "3 |"
    assert float(upm[5]) == pytest.approx(0.05, abs=0.001)
    assert (constant[1], constant[6:8], constant[8]) == ("4.00", ["0", "8"], "– |")
    assert [row[3] for row in rows[2:]] == ["a", "ab", "ab", "b"]  # four tables: 2.35
    assert (count[4], reference[5:8]) == ("0", ["–", "–", "–"])
    text = board_of(records)
    assert "8 bag datasets of 4 tables, 4 methods that all have." in text
    assert "half of the tests could show a difference of 0.00" in text
    assert "closer than 2.35, Nemenyi's critical difference at 0.05 with the tables as its sample" in text
    assert "288 runs; seeds 0, 1, 2, folds 0, 1, 2" in text


def test_a_board_of_a_kind_of_bags_and_by_another_measure_has_its_own_order(records):
    by_loss = board_of(narrowed(records, ["random", "log_loss"]))
    assert "4 bag datasets of 4 tables" in by_loss
    lines = [line.split(" | ") for line in by_loss.splitlines()]
    assert lines[2][0] == "| **upm**"
    assert lines[2][5].startswith("+0.0")  # a smaller loss is better
    worse = [one.model_copy(update={"measures": {**one.measures, "log_loss": one.measures["auc"]}}) for one in records]
    assert "| **constant**" not in board_of(narrowed(worse, ["log_loss"]))
    assert board_of(narrowed(worse, ["log_loss"])).splitlines()[2].startswith("| constant | 1.00 |")
    assert narrowed(records, ["report"]) == []


def test_a_method_from_outside_stands_with_its_source(records):
    own = [
        one.model_copy(update={"versions": {SOURCE: "mine 1.0, https://a"}}) for one in records if one.method == "upm"
    ]
    others = [one for one in records if one.method != "upm"]
    assert "- From outside: upm (mine 1.0, https://a)." in board_of([*others, *own])
    assert "From outside" not in board_of(records)


def test_all_six_measures_stand_beside_the_constants(records):
    lines = measures_of(records).splitlines()
    assert lines[0].count("|") == 8
    assert [line.split(" | ")[0] for line in lines[2:7]] == [
        "| instance_bce",
        "| upm",
        "| count",
        "| dllp_bce",
        "| constant",
    ]
    assert lines[6] == "| constant | 0.5000 | 0.2000 | 0.5000 | 0.2000 | 0.2000 | 1.0000 |"
    partly = [one for one in records if (one.method, one.dataset) != ("upm", "a")]
    assert "| upm" not in measures_of(partly)


def search(losses, aucs, dataset, method="upm"):
    """Runs at the rates 0.0001, 0.001 and 0.01."""
    rates = (1e-4, 1e-3, 1e-2)
    return [
        record("auc", auc, held_out=loss, dataset=dataset, method=method, config={"optimizer": {"lr": rate}})
        for rate, loss, auc in zip(rates, losses, aucs, strict=True)
    ]


def test_a_fixed_rate_has_the_least_criterion_once_each_bag_dataset_is_scaled():
    runs = [*search((0.9, 0.5, 0.5), (0.7, 0.6, 0.5), "small"), *search((50.0, 60.0, 90.0), (0.7, 0.65, 0.8), "large")]
    # of 0.01: 0 and 1, of 0.001: 0 and 0.25, of 0.0001: 1 and 0
    assert fixed_rates(runs) == {"upm": 1e-3}
    table = regrets_of(runs)
    assert "| upm | 0.001 | 0.1250 | 0.1000 | 0.1250 | 1 of 2 |" in table  # small chooses 0.001, large 0.0001
    assert "0.001 loses +0.0250 (standard error 0.0250) more than the chosen ones" in table


def test_rates_are_compared_on_the_folds_that_all_have():
    first = search((0.1, 0.2, 0.3), (0.5, 0.5, 0.5), "a")
    more = [first[0].model_copy(update={"fold": 1, "metric": first[0].metric.model_copy(update={"held_out": 9.0})})]
    assert fixed_rates([*first, *more]) == {"upm": 1e-4}
