"""The result tables of the pages are what the committed records say."""

import pytest

from llp.bench.results import DOCS, TABLE, keep, read, table_of, with_tables
from tests.helpers.records import stage, write_folds

PAGES = sorted(DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_a_page_are_made_from_its_records(page):
    text = page.read_text()
    assert text == with_tables(text), "write the tables anew: python -m llp.bench.results"


def test_records_and_tables_belong_together():
    named = {found[2] for page in PAGES for found in TABLE.finditer(page.read_text())}
    kept = {path.stem for path in (DOCS / "results").glob("*.jsonl")}
    assert named == kept != set()


def test_a_table_is_means_and_deviations_over_folds(tmp_path):
    write_folds(tmp_path, [0.5, 0.7], method="upm", git_commit="0123456789")
    write_folds(tmp_path, [0.6, 0.8], method="ot_llp", stages=[stage(), stage(method="ot_llp", epochs=3)])
    write_folds(tmp_path, [0.5, 0.5], method="group_prior", stages=[stage(epochs=0)])
    keep(tmp_path, tmp_path / "kept.jsonl")
    assert table_of(read(tmp_path / "kept.jsonl")) == (
        "| method | test auc, month_dest | epochs |\n"
        "| --- | --- | --- |\n"
        "| `ot_llp` | 0.7000 ± 0.1414 | 4 + 3 |\n"
        "| `upm` | 0.6000 ± 0.1414 | 4 |\n"
        "| `group_prior` | 0.5000 ± 0.0000 |  |\n"
        "\n6 runs; seeds 0, folds 0, 1; code of commit 01234567, unknown.\n"
    )


def test_a_table_of_one_fold_has_no_deviations(tmp_path):
    write_folds(tmp_path, [0.5], method="upm")
    keep(tmp_path, tmp_path / "kept.jsonl")
    assert "| `upm` | 0.5000 | 4 |\n" in table_of(read(tmp_path / "kept.jsonl"))
