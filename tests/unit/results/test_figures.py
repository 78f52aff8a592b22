"""The report's figures: all drawn from a whole grid, with what they must name, the same for the same runs."""

import re

import matplotlib as mpl
import polars as pl
import polars.selectors as cs
import pytest
from PIL import Image

from llp.analysis.drawing import STYLE, looks, save_figure
from llp.analysis.figures import draw_measures
from llp.report import report
from llp.results import contents
from llp.results.bag_measures import analysis_path, read_analysis
from llp.results.page.data import _run
from llp.results.page.render import as_json
from tests.helpers.grids import KEYS, METHODS, contents_of, write_analysis, write_grid

pytestmark = pytest.mark.run  # draws for seconds


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    write_grid(folder)
    part = contents_of(folder, write_analysis(folder))
    with mpl.rc_context(STYLE):
        drawn = {name: draw(part) for name, draw in contents.SCORE_FIGURES.items()}
        made = {name: save_figure(figure, folder / "drawn" / name) for name, figure in drawn.items() if figure}
    assert contents.SCORE_FIGURES.keys() - made.keys() == {"bag_calibration"}  # no run of the grid is measured by bags
    return made


def words(path):
    return re.sub(r"<[^>]*>", " ", path.read_text())


def test_every_figure_is_a_readable_image(drawn):
    for png, svg in drawn.values():
        image = Image.open(png)
        assert image.width > 600
        assert len(image.convert("L").getcolors()) > 10
        assert svg.read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["by_mean_bag_size", "by_label_prop_stdev", "by_inter_intra_ratio", "learning_curves"])
def test_lines_are_named_by_method(drawn, name):
    assert all(method in words(drawn[name][1]) for method in METHODS)


def test_datasets_and_measures_are_named(drawn):
    assert all(key in words(drawn["by_mean_bag_size"][1]) for key in KEYS)
    assert all(key in words(drawn["scatter"][1]) for key in KEYS)
    assert "critical difference" in words(drawn["critical_difference"][1])


def test_no_two_methods_look_alike():
    found = looks([f"method {i}" for i in range(30)])
    assert len({(look["color"], look["marker"]) for look in found.values()}) == 30


def test_a_curve_with_an_infinite_value_is_drawn_without_it(tmp_path):
    write_grid(tmp_path, keys=KEYS[:2], methods=METHODS[:2], folds=2)
    path = next(tmp_path.rglob("metrics.csv"))
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index("test_auc")
    row = lines[1].split(",")
    row[place] = "inf"
    path.write_text("\n".join([lines[0], ",".join(row), *lines[2:]]) + "\n")
    part = contents_of(tmp_path)
    assert contents.SCORE_FIGURES["learning_curves"](part) is not None
    as_json({"runs": [_run(run, tmp_path) for run in part.runs.iter_rows(named=True)]})


def test_an_analysis_of_undefined_measures_or_of_texts_is_told_or_left_out(tmp_path):
    write_grid(tmp_path, keys=KEYS, methods=METHODS[:2], folds=2)
    rows = write_analysis(tmp_path)
    part = contents_of(tmp_path, rows.with_columns(cs.float().fill_null(0) * float("nan")))
    assert draw_measures(part.analysis) is None
    assert all(draw(part) is None for name, draw in contents.SCORE_FIGURES.items() if name.startswith("by_"))
    path = analysis_path(tmp_path, "flights")
    rows.with_columns(pl.col("mean_bag_size").cast(pl.String)).write_parquet(path)
    found, problem = read_analysis(path)
    assert found is None
    assert "cannot be used" in problem


def test_too_little_gives_no_figure(tmp_path):
    write_grid(tmp_path, keys=KEYS[:1], methods=METHODS[:2], folds=1, curves=False)
    part = contents_of(tmp_path, write_analysis(tmp_path))
    there = {name for name, draw in contents.SCORE_FIGURES.items() if draw(part) is not None}
    assert there == {"scores", "cost"}


def test_many_datasets_become_a_heat_map(tmp_path):
    keys = [f"a_{i}" for i in range(40)]
    write_grid(tmp_path, keys=keys, methods=METHODS[:3], folds=1, curves=False)
    files = report(tmp_path, figures=["scores"], tables=["wins"])
    assert "a_39" in words(files.figures[1])
    assert "behind the best of the row" in words(files.figures[1])
