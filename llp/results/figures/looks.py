"""How each method is drawn: alike in all figures of a report."""

from typing import Any

import polars as pl

from llp.analysis.drawing import look
from llp.results.formats import columns_of


def looks_of(cells: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The look of each method, in the order of `columns_of`; it goes by the method's place in the whole report."""
    places = dict(cells.select("column", "place").iter_rows())
    return {name: look(places[name]) for name in columns_of(cells)}
