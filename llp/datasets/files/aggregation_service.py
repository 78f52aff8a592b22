"""Summaries of the aggregation service: sums by bucket, a hash of a query's values, as a file of queries says."""

import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from llp.datasets.files.report_file import BUCKET, COLUMNS, METRIC, QUERY, File, columns_of
from llp.datasets.files.reports import PLACE, SCALE, SUM
from llp.datasets.files.values import text
from llp.errors import InputError

log = logging.getLogger(__name__)

HASH, SHARE = "hash", "l1_share"
L1, BUCKET_BYTES = 2**16, 16
PART = r'"[^"]*"|v\d+|value'
HASHED = re.compile(rf"sha256-16\((?:{PART})(?:\s*\+\s*(?:{PART}))*\)")


def summary(
    one: File, listed: File | None, rows: pl.LazyFrame, epsilon: float | None
) -> Iterator[tuple[Sequence[str], pl.DataFrame]]:
    """The cells of a summary whose buckets hash values that the rows have; Laplace noise of scale 2^16/ε is in each."""
    if listed is None:
        raise InputError(
            f"{one.name} holds hashes; expected queries=FILE with the columns {QUERY}, {COLUMNS}, {HASH} and {SHARE}"
        )
    queries = columns_of(listed)
    if lacking := [name for name in (HASH, SHARE) if name not in listed.frame.columns]:
        raise listed.lacks(lacking[0])
    shares = listed.number(SHARE)
    if (wrong := ~shares.is_between(0, 1, closed="right")).any() or shares.sum() > 1 + 1e-9:
        raise listed.wrong(wrong, f"{SHARE} is {shares.to_list()}; expected shares above 0 of a sum of at most 1")
    buckets = one.frame.with_columns(pl.col(BUCKET).bin.encode("hex").str.pad_start(2 * BUCKET_BYTES, "0"))
    if (long := buckets[BUCKET].str.len_bytes() > 2 * BUCKET_BYTES).any():
        raise one.wrong(long, f"{BUCKET} has more than {BUCKET_BYTES} bytes")
    n_found = 0
    schema = rows.collect_schema()
    told = (queries.values(), shares, listed.frame[HASH], listed.frame[PLACE])
    for columns, share, form, at in zip(*told, strict=True):
        if lacking := [name for name in columns if name not in schema.names()]:
            raise InputError(
                f"{listed.place(at)}: {lacking[0]!r} is no column of the rows; they have {', '.join(schema.names())}"
            )
        hashed = _hash(form or "", columns, listed.place(at))
        values = rows.select(text(name, schema[name], one.reading) for name in columns or schema.names()[:1])
        known = values.unique(maintain_order=True).collect() if columns else values.head(1).collect()
        known = known.drop_nulls().with_columns(pl.Series(BUCKET, map(hashed, known.drop_nulls().iter_rows())))
        cells = buckets.join(known, on=BUCKET, how="inner", maintain_order="left")
        n_found += cells.height
        cells = cells.with_columns((pl.col(METRIC) / (share * L1)).alias(SUM))
        yield columns, cells if epsilon is None else cells.with_columns(pl.lit(1 / (epsilon * share)).alias(SCALE))
    if n_found < buckets.height:
        log.warning(
            "%d of the %d buckets of %s are of no query of %s and values of the rows, and are left out",
            buckets.height - n_found, buckets.height, one.name, listed.name,
        )  # fmt: skip


def _hash(form: str, columns: Sequence[str], where: str) -> Callable[[Sequence[str]], str]:
    """From values of columns a bucket's 32 hexadecimal digits: `sha256-16("month="+v1)` is of a text's SHA-256."""
    if not HASHED.fullmatch(form):
        raise InputError(f'{where}: {HASH} is {form!r}, expected the like of sha256-16("month="+v1+"&carrier="+v2)')
    parts = re.findall(PART, form)
    places = [None if part[0] == '"' else 0 if part == "value" else int(part[1:]) - 1 for part in parts]
    if {one for one in places if one is not None} != {*range(len(columns))}:
        raise InputError(f"{where}: {HASH} is {form!r}, expected v1 to v{len(columns)} of {', '.join(columns)} in it")

    def hashed(values: Sequence[str]) -> str:
        said = "".join(part[1:-1] if one is None else values[one] for part, one in zip(parts, places, strict=True))
        return hashlib.sha256(said.encode()).hexdigest()[: 2 * BUCKET_BYTES]

    return hashed
