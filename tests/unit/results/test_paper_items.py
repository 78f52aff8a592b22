"""The page of the paper's items names tables and figures that there are, and the files that a report makes of them."""

import re

import pytest
from PIL import Image

from llp.analysis import drawing
from llp.config.grouping_keys import CONF_DIR, options
from llp.datasets.published import benchmark_keys
from llp.results import contents
from tests.helpers.composed import report
from tests.helpers.grids import write_analysis, write_grid, write_made_matrix

PAGE = CONF_DIR.parent / "docs" / "paper_items.md"
PARTS = {"criteo_ctr": "criteo_ctr_paper_auc", "criteo_sscl": "criteo_sscl_paper_mse"}

pytestmark = [pytest.mark.run, pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")]  # reports


def items():
    """The page's rows: item, command, and (tables or figures, PART or SET, name) of its files."""
    rows = [line.split("|")[1:-1] for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    for item, command, files in rows:
        yield item.strip(), command, re.findall(r"`(tables|figures)/(PART|SET)_(\w+)`", files)


def test_every_item_names_what_the_report_makes():
    assert len([*items()]) == 15
    for item, command, files in items():
        kinds = {"tables": contents.TABLES, "figures": contents.FIGURES}
        asked = {
            (kind, name)
            for kind, names in re.findall(r"(tables|figures)=(\[[\w,]+\]|\w+)", command)
            for name in names.strip("[]").split(",")
        }
        assert asked, item
        assert all(name in kinds[kind] for kind, name in asked), item
        assert {(kind, name) for kind, _, name in files} == asked, item
        assert all(name in options("experiment") for name in re.findall(r"`(paper_\w+)`", command))


def save_blank(figure, stem):
    """What a figure's files are called; drawing them takes seconds."""
    png = stem.with_name(f"{stem.name}.png")
    stem.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (1, 1)).save(png)
    return png


def test_every_item_is_a_file_of_a_finished_benchmark(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "save_figure", save_blank)
    for dataset, metric in (("criteo_ctr", "auc"), ("criteo_sscl", "mse")):
        keys = benchmark_keys(dataset)[:5]
        every = [*keys, "random_64", "random_256", f"fixed_{keys[0]}_64"]
        methods = ["dllp_mse", "genbags", "sim_llp", "instance_mse"]
        write_grid(tmp_path, dataset=dataset, metric=metric, keys=every, methods=methods, folds=2)
        write_analysis(tmp_path, dataset=dataset, keys=keys)
        write_made_matrix(tmp_path, keys[0], dataset=dataset)
    files = report(tmp_path)
    made = {"tables": {path.stem for path in files.tables}, "figures": {path.stem for path in files.figures}}
    for item, _, files in items():
        for kind, of, name in files:
            there = {PARTS[dataset] if of == "PART" else dataset for dataset in PARTS}
            assert made[kind] & {f"{start}_{name}" for start in there}, (item, kind, name)
