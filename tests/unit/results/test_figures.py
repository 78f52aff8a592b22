"""The report's figures: all drawn from a whole grid, with what they must name, the same for the same runs."""

import re

import matplotlib as mpl
import polars as pl
import polars.selectors as cs
import pytest
from PIL import Image

from llp.analysis import drawing
from llp.analysis.drawing import STYLE, look, save_figure
from llp.analysis.figures import draw_measures
from llp.results import contents
from llp.results.bag_measures import analysis_path, read_analysis
from llp.results.collect import collect
from llp.results.page.data import _run, page_data
from llp.results.page.render import as_json
from llp.results.sections import Report
from tests.helpers.composed import report
from tests.helpers.grids import KEYS, METHODS, contents_of, write_analysis, write_grid
from tests.helpers.records import write_run

pytestmark = pytest.mark.run  # draws for seconds


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    write_grid(folder)
    part = contents_of(folder, write_analysis(folder))
    with mpl.rc_context(STYLE), pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "DPI", 40)  # a quarter of the time
        drawn = {name: draw(part) for name, (_, draw) in contents.SCORE_FIGURES.items()}
        made = {name: save_figure(figure, folder / "drawn" / name) for name, figure in drawn.items() if figure}
    assert contents.SCORE_FIGURES.keys() - made.keys() == {"bag_calibration"}  # no run of the grid is measured by bags
    return made


def words(png):
    return re.sub(r"<[^>]*>", " ", png.with_suffix(".svg").read_text())


def test_every_figure_is_a_readable_image_that_names_what_it_shows(drawn):
    for png in drawn.values():
        image = Image.open(png)
        assert image.width > 160
        assert len(image.convert("L").getcolors()) > 10
    for name in ("by_mean_bag_size", "by_label_prop_stdev", "by_inter_intra_ratio", "learning_curves"):
        assert all(method in words(drawn[name]) for method in METHODS)
    assert all(key in words(drawn[name]) for name in ("scores", "by_mean_bag_size", "scatter") for key in KEYS)
    assert len(re.findall(r"\b0\.\d{4}\b", words(drawn["scores"]))) >= len(METHODS) * len(KEYS)
    assert "critical difference" in words(drawn["critical_difference"])


def test_no_two_methods_look_alike():
    looks = [look(place) for place in range(28)]
    for other in ("ls", "marker"):  # by the line alone, and by the marker alone
        assert len({(one["c"], one[other]) for one in looks}) == 28


def drawn_lines(figure):
    """Name to what tells its line apart, of all lines that a legend names."""
    handles = [line for axes in figure.axes for line in axes.get_lines() if not line.get_label().startswith("_")]
    return {
        line.get_label(): (line.get_color(), line.get_linestyle(), line.get_marker(), line.get_markerfacecolor())
        for line in handles
    }


def test_a_method_looks_the_same_in_all_figures_of_a_report(tmp_path):
    many = [f"m{i}" for i in range(9)]
    write_grid(tmp_path, keys=KEYS, methods=many, folds=1)
    write_grid(tmp_path, dataset="other", keys=KEYS[:2], methods=many[::-1][:4], folds=1)
    whole = contents_of(tmp_path, write_analysis(tmp_path))
    found = []
    for part in whole.cells.partition_by("dataset"):
        runs = whole.runs.filter(pl.col("dataset") == part["dataset"][0])
        scores = contents.Scores(part, runs, whole.analysis)
        for name in ("by_mean_bag_size", "by_inter_intra_ratio", "learning_curves"):
            found.append(drawn_lines(contents.SCORE_FIGURES[name][1](scores)))
    assert [len(lines) for lines in found] == [9] * 3 + [4] * 3
    assert all(lines[name] == found[0][name] for lines in found for name in lines)
    assert len({*found[0].values()}) == 9


def learning_curves(folder, curves, metric="auc", **changes):
    for fold, values in enumerate(curves):
        path = write_run(folder, max(values), metric=metric, fold=fold, **changes) / "metrics.csv"
        rows = [f"{look},{value}" for look, value in enumerate(values)]
        path.write_text("\n".join([f"epoch,test_{metric}", *rows]) + "\n")
    return contents.SCORE_FIGURES["learning_curves"][1](contents_of(folder))


def test_runs_without_the_metric_in_their_curves_have_no_figure_of_them(tmp_path):
    """Those under protocol=holdout: an empty pair of axes tells nothing."""
    assert learning_curves(tmp_path, [[float("nan")] * 3]) is None


@pytest.mark.parametrize("n", [1, 3, 40])
def test_ticks_of_learning_curves_are_whole_looks(tmp_path, n):
    axes = learning_curves(tmp_path, [[0.5 + 0.001 * i for i in range(n)]]).axes[0]
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert ticks
    assert all(tick == round(tick) for tick in ticks)


def test_looks_more_frequent_than_an_epoch_are_said(tmp_path):
    config = {"trainer": {"evaluate_every": 0.25}}
    figure = learning_curves(tmp_path, [[0.5, 0.6, 0.7]], config=config)
    assert figure.axes[0].get_xlabel() == "evaluation, every 0.25 epochs"
    part = contents_of(tmp_path)
    page = page_data(Report(tmp_path, part.runs, part.cells, collect(tmp_path).configs))
    assert [cell["unit"] for cell in page["cells"].values()] == ["evaluation, every 0.25 epochs"]


@pytest.mark.parametrize(("metric", "curves"), [
    ("auc", [[0.71, 0.72, 0.72], [0.7] * 3, [0.71] * 3, *([[0.72] * 3] * 20), [0.5, 0.3, 0.2]]),
    ("mse", [[150.0, 140.0], *([[130.0, 120.0]] * 20), [400.0, 90.0]]),
])  # fmt: skip
def test_the_axis_of_learning_curves_holds_all_of_them(tmp_path, metric, curves):
    figure = learning_curves(tmp_path, curves, metric)
    low, high = figure.axes[0].get_ylim()
    assert low < min(map(min, curves))
    assert max(map(max, curves)) < high
    assert "above" not in figure.get_suptitle()


def test_an_error_far_off_is_said_where_the_axis_does_not_hold_it(tmp_path):
    figure = learning_curves(tmp_path, [[150.0, 140.0], [130.0, 120.0], [9e5, 160.0]], "mse")
    assert 160 < figure.axes[0].get_ylim()[1] < 200
    assert "1 of 6 values are above the axis, up to 9e+05" in figure.get_suptitle()


def test_a_curve_with_an_infinite_value_is_drawn_without_it(tmp_path):
    figure = learning_curves(tmp_path, [[0.5, float("inf"), 0.6], [0.5, 0.6, 0.7]])
    assert figure.axes[0].get_ylim()[1] < 1
    as_json({"runs": [_run(run, tmp_path) for run in contents_of(tmp_path).runs.iter_rows(named=True)]})


def test_an_analysis_of_undefined_measures_or_of_texts_is_told_or_left_out(tmp_path):
    write_grid(tmp_path, keys=KEYS, methods=METHODS[:2], folds=2)
    rows = write_analysis(tmp_path)
    part = contents_of(tmp_path, rows.with_columns(cs.float().fill_null(0) * float("nan")))
    assert draw_measures(part.analysis) is None
    assert all(draw(part) is None for name, (_, draw) in contents.SCORE_FIGURES.items() if name.startswith("by_"))
    path = analysis_path(tmp_path, "flights")
    rows.with_columns(pl.col("mean_bag_size").cast(pl.String)).write_parquet(path)
    found, problem = read_analysis(path)
    assert found is None
    assert "cannot be used" in problem


def test_too_little_gives_no_figure(tmp_path):
    write_grid(tmp_path, keys=KEYS[:1], methods=METHODS[:2], folds=1, curves=False)
    part = contents_of(tmp_path, write_analysis(tmp_path))
    there = {name for name, (_, draw) in contents.SCORE_FIGURES.items() if draw(part) is not None}
    assert there == {"scores"}


def test_many_datasets_become_a_heat_map(tmp_path):
    keys = [f"a_{i}" for i in range(40)]
    write_grid(tmp_path, keys=keys, methods=METHODS[:3], folds=1, curves=False)
    files = report(tmp_path, figures=["scores"], tables=["wins"])
    assert "a_39" in words(files.figures[1])
    assert "behind the best of the row" in words(files.figures[1])
