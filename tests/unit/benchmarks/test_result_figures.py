"""The figures of the result pages show what the committed records say."""

import pytest

from benchmarks.records import DOCS, files_of
from benchmarks.result_figures import FIGURES, draw_noise, draw_study
from benchmarks.result_grids import lines_of, noise_of
from llp.data.noise import Promise
from tests.helpers.records import record


def test_a_line_holds_the_runs_of_a_method_by_place():
    runs = (("upm", 0, 0.6), ("upm", 1, 0.7), ("ot_llp", 0, 0.5), ("ot_llp", 1, None))
    records = [record("auc", value, method=method, fold=fold) for method, fold, value in runs]
    assert lines_of(records, lambda one: float(one.fold)) == {"ot_llp": {0.0: [0.5]}, "upm": {0.0: [0.6], 1.0: [0.7]}}
    assert lines_of(records, lambda _: None) == {}


def study():
    """Records of a method with 40 and 400 bags of 16, and with 10 of 64; folds differ by a bag."""
    sizes = ((40, 16), (400, 16), (10, 64))
    points = [(f"random_{size}", n + fold, {"dataset": {"rows": n * size}}) for n, size in sizes for fold in (0, 1)]
    return [record("auc", 0.6, grouping_key=key, n_train_bags=bags, config=rows) for key, bags, rows in points]


def test_the_study_has_a_panel_for_each_bag_size_by_number_of_bags():
    panels = draw_study(study()).axes
    assert [axes.get_title() for axes in panels] == ["bags of 16", "bags of 64"]
    assert [list(axes.lines[0].get_xdata()) for axes in panels] == [[40.5, 400.5], [10.5]]


def test_noise_is_drawn_by_epsilon_beside_none():
    noisy = [record("auc", auc, config={"noise": {"epsilon": epsilon}}) for auc, epsilon in ((0.6, 1.0), (0.5, 0.1))]
    axes = draw_noise([*noisy, record("auc", 0.7)]).axes[0]
    assert (list(axes.lines[0].get_xdata()), list(axes.lines[0].get_ydata())) == ([0.1, 1.0], [0.5, 0.6])
    assert list(axes.lines[-1].get_ydata()) == [0.7, 0.7]


def test_a_method_has_one_colour_with_noise_and_without():
    noisy = [record("auc", 0.6, method=method, config={"noise": {"epsilon": 1.0}}) for method in ("count", "upm")]
    axes = draw_noise([*noisy, record("auc", 0.7, method="upm"), record("auc", 0.5, method="dsq")]).axes[0]
    colour = {method: line.lines[0].get_color() for method, line in zip(("count", "upm"), axes.containers, strict=True)}
    of_dsq, of_upm = (line.get_color() for line in axes.lines[-2:])
    assert of_upm == colour["upm"]
    assert len({*colour.values(), of_dsq}) == 3


def spent(auc, key, mechanism, quieter, **changes):
    """A record of noise at ε = 1 on bags of a key."""
    promise = Promise(mechanism, 1.0, 0.0, 1.0, 1, 1.0, "", 0, quieter)
    changes |= {"instance_labels": False} | ({"bag_kind": "report"} if key["kind"] == "report" else {})
    config = {"noise": {"epsilon": 1.0}, "grouping_key": key}
    return record("auc", auc, config=config, **changes).model_copy(update={"noise": promise})


def test_a_budget_is_drawn_by_what_it_is_spent_on_with_crosses_where_flips_are_predicted_to_win():
    report, pairs = {"kind": "report", "queries": ["pairs", ["a", "b", "c"]]}, {"kind": "report", "queries": "pairs"}
    records = [
        spent(0.7, report, "laplace", 0.4, grouping_key="report", method="cell_glm"),
        spent(0.6, pairs, "laplace", 0.6, grouping_key="report", method="cell_glm"),
        spent(0.8, {"kind": "random"}, "randomised_response", 0.0, grouping_key="random_1", method="instance_bce"),
        spent(0.5, {"kind": "random"}, "laplace", 0.9, grouping_key="random_64", method="upm"),
    ]
    axes = draw_noise(records).axes[0]
    lines = {line.get_label(): line.lines[0].get_ydata() for line in axes.containers}
    assert lines == {
        "flips: instance_bce": [0.8],
        "pairs + one of 3: cell_glm": [0.7],
        "pairs: cell_glm": [0.6],
        "random_64: upm": [0.5],
    }
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [list(line.get_ydata()) for line in crosses] == [[0.7], []]
    table = noise_of(records)
    assert "| flips: instance_bce | **0.8000** |" in table
    assert "| pairs: cell_glm | 0.6000 |" in table


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_drawn_is_committed_with_its_records(name):
    drawn = [(DOCS / "images" / f"{name}.{ending}").is_file() for ending in ("png", "svg")]
    assert drawn == 2 * [bool(files_of(name))]
