"""The page of the paper's items names tables and figures that there are."""

import re

import pytest

from llp.config.grouping_keys import CONF_DIR, options
from llp.results import contents

PAGE = CONF_DIR.parent / "docs" / "paper_items.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")
def test_every_item_names_what_the_report_makes():
    rows = [line.split("|")[1:-1] for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 14
    for item, command, files in rows:
        kinds = {"tables": contents.TABLES, "figures": contents.FIGURES}
        asked = {
            (kind, name)
            for kind, names in re.findall(r"(tables|figures)=(\[[\w,]+\]|\w+)", command)
            for name in names.strip("[]").split(",")
        }
        assert asked, item
        assert all(name in kinds[kind] for kind, name in asked), item
        written = {(kind, name) for kind, name in re.findall(r"`(tables|figures)/(?:PART|SET)_(\w+)`", files)}
        assert written == asked, item
        assert all(name in options("experiment") for name in re.findall(r"`(paper_\w+)`", command))
