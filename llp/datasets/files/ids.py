"""Whole numbers that may be the names of something: as numbers they have an order and distances that mean nothing."""

import logging
import re
from collections.abc import Sequence

import polars as pl

from llp.datasets.files.kinds import FIRST_ROWS, RawColumn
from llp.datasets.files.values import number
from llp.datasets.reading.options import Reading

log = logging.getLogger(__name__)

ID_NAME = re.compile(r"(?:^|[\W_])(?i:ids?|codes?|zip)$|[a-z](?:Ids?|IDs?|Codes?)$")
NOTE = "ids? categorical=[...]"
FEW, MANY = 20, 2**20  # different numbers up to which they may be names, and from which on they are not counted
SEEN, ALIKE = 5, 0.3  # how often one is seen on average, and the correlation of neighbours' counts that shows an order


def may_be_ids(lazy: pl.LazyFrame, column: str, values: int, reading: Reading) -> bool:
    """Whether numbers may be ids: whole ones that are few, or called so, or whose neighbours' counts are unlike."""
    if not 2 < values <= MANY:
        return False
    x = number(column, lazy.collect_schema()[column], reading).alias("value")
    for rows in (lazy.head(FIRST_ROWS), lazy):
        counts = rows.select(x).drop_nulls().group_by("value").len().collect(engine="streaming").sort("value")
        if (counts["value"] % 1 != 0).any():
            return False
    often = counts["len"].rank()
    alike = pl.DataFrame({"one": often[:-1], "next": often[1:]}).select(pl.corr("one", "next")).item() or 0.0
    unordered = counts["len"].sum() >= SEEN * len(counts) and not alike > ALIKE  # NaN where all come equally often
    return len(counts) <= FEW or ID_NAME.search(column) is not None or unordered


def note_ids(lazy: pl.LazyFrame, columns: Sequence[RawColumn], reading: Reading) -> list[RawColumn]:
    """The columns, with a note of numbers that may be ids, of which a warning says what to write."""
    noted = [
        one._replace(note=NOTE)
        if one.kind == "numeric" and not one.given and may_be_ids(lazy, one.name, one.values, reading)
        else one
        for one in columns
    ]
    if names := ",".join(one.name for one in noted if one.note == NOTE):
        log.warning(
            "whole numbers that may be ids (few, in no order or called so) are taken as numeric: %s; if they are ids, "
            "write categorical=[%s]; numeric=[%s] says that they are numbers", names, names, names,
        )  # fmt: skip
    return noted
