"""Names of one's own: whatever they hold, every written form of a report shows them as they are."""

import html
import json
import re

import pytest

from llp.runs.point import Point
from tests.helpers.composed import report
from tests.helpers.records import ask_for, write_run

pytestmark = pytest.mark.run  # reports

DATASET = r"<b>x</b> [red]a|b `q` $_$ \n é"
METHODS = ["[/bold]", r"a&b_%#{}~^\ $_$", "<script>alert(1)</script>", "one\ntwo"]
KEYS = ["k|1 $_$", "__", "*star*", "random_64"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The report on runs that have such names."""
    folder = tmp_path_factory.mktemp("outputs")
    for i, method in enumerate(METHODS):
        for j, key in enumerate(KEYS):
            for fold in range(2):
                names = {"dataset": DATASET, "method": method, "grouping_key": key, "fold": fold}
                write_run(folder, 0.5 + 0.01 * (i + fold), config_hash=f"{i}{j}{fold}00000", **names)
    ask_for(folder, "<i>exp</i>", [Point(DATASET, "k|1", "never[x]", 0, 0)])
    return report(folder, figures=["scores"])


def test_the_page_holds_them_as_text(written):
    text = written.page.read_text()
    assert "<b>x" not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    titles = {cell["title"] for cell in data["cells"].values()}
    assert titles == {f"{method} on {key}" for method in METHODS for key in KEYS}
    assert html.escape(DATASET, quote=False) in text


def test_markdown_tables_keep_their_columns(written):
    tables = re.findall(r"(?:^\|.*\n)+", written.markdown.read_text(), re.M)
    assert len(tables) > 5
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table
    assert not re.search(r"(?<!\\)<(script|b)>", written.markdown.read_text())


def test_latex_has_nothing_of_a_note_outside_comments(written):
    for path in written.tables:
        if path.suffix == ".tex":
            before = path.read_text().partition("\\begin")[0]
            assert all(line.startswith("%") for line in before.splitlines()), path


def test_a_dollar_in_a_figure_is_a_dollar(written):
    [scores] = [path for path in written.figures if path.name.endswith("_scores.svg")]
    assert html.escape(KEYS[0]) in scores.read_text()
