"""Methods that were trained differently and stand in one table: the report says in what."""

import pytest

from llp.results.collect import collect
from llp.results.sections import findings
from llp.results.variants import differing_settings
from tests.helpers.grids import contents_of
from tests.helpers.records import write_folds, write_run


def said(folder):
    return differing_settings(contents_of(folder).cells, collect(folder).configs)


def test_methods_in_the_same_settings_differ_in_nothing(tmp_path):
    write_folds(tmp_path, [0.6, 0.7])
    write_folds(tmp_path, [0.6, 0.7], method="sim_llp", config={"method": {"bag_weight": 0.5}})
    assert said(tmp_path) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"optimizer": {"lr": 0.1}}, "optimizer.lr is 0.1 (sim_llp) and 0.001 (dllp_bce, dsq)"),
        ({"trainer": {"max_epochs": 9}}, "trainer.max_epochs is 9 (sim_llp) and 50 (dllp_bce, dsq)"),
        ({"protocol": {"select_by": "upm"}}, "protocol.select_by is upm (sim_llp) and test (dllp_bce, dsq)"),
        ({"model": {"hidden": [8]}}, "model.hidden is [8] (sim_llp) and [128,64] (dllp_bce, dsq)"),
        (
            {"optimizer": {"lr": 0.1}, "dataset": {"learning_rate": 0.1}},
            "optimizer.lr is 0.1 (sim_llp) and 0.001 (dllp_bce, dsq)",
        ),
        (
            {"optimizer": {"lr": 0.1}, "trainer": {"max_epochs": 9}},
            "optimizer.lr is 0.1 (sim_llp) and 0.001 (dllp_bce, dsq); "
            "trainer.max_epochs is 9 (sim_llp) and 50 (dllp_bce, dsq)",
        ),
    ],
)
def test_settings_that_differ_are_named_once(tmp_path, changed, expected):
    common = {"trainer": {"max_epochs": 50}, "protocol": {"select_by": "test"}}
    for method in ("dllp_bce", "dsq"):
        write_run(tmp_path, 0.6, method=method, config=common)
    merged = {group: common.get(group, {}) | changed.get(group, {}) for group in common | changed}
    write_run(tmp_path, 0.6, method="sim_llp", config=merged)
    assert said(tmp_path) == [f"The methods differ in more than themselves: {expected}."]


def test_rows_that_differ_from_each_other_are_no_difference_of_methods(tmp_path):
    for key, rate in (("month_dest", 0.1), ("tailnum", 0.2)):
        for method in ("dllp_bce", "dsq"):
            write_run(tmp_path, 0.6, method=method, grouping_key=key, config={"optimizer": {"lr": rate}})
    assert said(tmp_path) == []


def test_methods_under_other_protocols_are_named(tmp_path):
    for protocol, method in (("paper", "dsq"), ("paper", "upm"), ("holdout", "dsq"), ("holdout", "rot")):
        write_run(tmp_path, 0.6, protocol=protocol, method=method, config_hash=f"{protocol}_{method}")
    cells = contents_of(tmp_path).cells
    [paper] = [part for part in cells.partition_by("protocol") if part["protocol"][0] == "paper"]
    assert findings(paper, cells)[2:] == [
        "Methods cannot be compared across protocols: only under protocol paper: upm; only under holdout: rot."
    ]
    assert findings(paper, paper)[2:] == []
