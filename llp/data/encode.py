"""From raw values to codes: the rules that every dataset shares.

Code 0 of a categorical column is always the rare code: values seen too seldom, and later unseen ones. The other
values follow by (count descending, value ascending), so that codes are the same on every run and hot embedding
rows lie together.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray


def vocabulary(counts: pl.DataFrame, *, rare_at_most: int) -> pl.Series:
    """The values that get a code of their own, in the order of their codes 1, 2, ...

    Parameters
    ----------
    counts : pl.DataFrame
        Columns `value` (String, without nulls) and `len`: the distinct values of a column and how often each
        was seen, in any order.
    rare_at_most : int
        Values seen at most this often share code 0.
    """
    frequent = counts.filter(pl.col("len") > rare_at_most)
    return frequent.sort(["len", "value"], descending=[True, False])["value"]


def encode(values: pl.Series, vocabulary: pl.Series) -> NDArray[np.int32]:
    """Codes (n,) int32 of `values` (n, String): 1 + the place in `vocabulary`, or 0 where it is not there."""
    codes = values.cast(pl.Enum(vocabulary), strict=False).to_physical().cast(pl.Int32) + 1
    return codes.fill_null(0).to_numpy()


def encode_column(values: pl.Series, *, rare_at_most: int) -> tuple[NDArray[np.int32], int]:
    """Codes (n,) int32 of a whole column and its vocabulary size; a missing value is a value like any other."""
    text = values.cast(pl.String).fill_null("").alias("value")
    counts = text.to_frame().group_by("value").len()
    known = vocabulary(counts, rare_at_most=rare_at_most)
    return encode(text, known), len(known) + 1


def quantile_bins(values: pl.Series, *, bins: int) -> tuple[NDArray[np.int32], int]:
    """Codes (n,) int32 of a numeric column cut at its quantiles, and the number of codes.

    Code 0 is the missing value, the bins follow in rising order. Quantiles that coincide are one edge, so there
    may be fewer than `bins` bins.
    """
    present = values.drop_nulls().to_numpy()
    edges = np.unique(np.quantile(present, np.arange(1, bins) / bins))
    codes = 1 + np.searchsorted(edges, values.fill_null(0).to_numpy(), side="right")
    codes[values.is_null().to_numpy()] = 0
    return codes.astype(np.int32), len(edges) + 2
