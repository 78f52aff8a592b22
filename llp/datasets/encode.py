"""From raw values to codes, 0 for rare ones, others by (count descending, value ascending), and to numbers."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray


class CodedLines(NamedTuple):
    """Raw lines as a table has them."""

    codes: NDArray[np.int32]  # (m, Fc)
    numbers: NDArray[np.floating]  # (m, Fn)
    outside: int  # values outside the codes of a binned column, which have its first or last one


class Category(NamedTuple):
    """A categorical column: its vocabulary, how many rows miss a value, whether any value has the rare code."""

    known: pl.Series
    missing: int
    any_rare: bool


def category(counts: pl.DataFrame, *, rare_at_most: int, missing_is_value: bool) -> Category:
    """What is known of a column from its values' counts; `missing_is_value`: null may have a code of its own."""
    candidates = counts if missing_is_value else counts.drop_nulls("value")
    known = vocabulary(candidates, rare_at_most=rare_at_most)
    missing = int(counts.filter(pl.col("value").is_null())["len"].sum())
    return Category(known, missing, any_rare=len(known) < counts.height)


def vocabulary(counts: pl.DataFrame, *, rare_at_most: int) -> pl.Series:
    """The values that get a code of their own, in the order of their codes 1, 2, ...

    Parameters
    ----------
    counts : pl.DataFrame
        Columns `value` and `len`: the distinct values of a column and how often each was seen, in any order. A null
        is a value too, the smallest.
    rare_at_most : int
        Values seen at most this often share code 0.
    """
    frequent = counts.filter(pl.col("len") > rare_at_most)
    return frequent.sort(["len", "value"], descending=[True, False], nulls_last=False)["value"]


def encode(values: pl.Series, known: pl.Series) -> NDArray[np.int32]:
    """Codes (n,) int32 of `values` (n,): 1 + the place in the vocabulary `known`, or 0 for a value outside it."""
    codes = pl.Series(np.arange(1, len(known) + 1, dtype=np.int32))
    return values.replace_strict(known, codes, default=0, return_dtype=pl.Int32).to_numpy()


def eight_digits(numbers: pl.Series) -> pl.Series:
    """UInt32 as text of eight hexadecimal digits each; null stays null."""
    big_endian = numbers.fill_null(0).to_numpy().astype(">u4")
    text = np.frombuffer(big_endian.tobytes().hex().encode(), "S8").astype(str)
    return pl.Series(numbers.name, text, pl.String).set(numbers.is_null(), None)


def from_eight_digits(texts: pl.Series) -> pl.Series:
    """The UInt32 that `eight_digits` made text of; null stays null."""
    return texts.str.to_integer(base=16, dtype=pl.UInt32)


def encode_column(values: pl.Series, *, rare_at_most: int) -> tuple[NDArray[np.int32], pl.Series]:
    """Codes (n,) int32 of a whole column and its vocabulary; a missing value is a value like any other."""
    counts = values.alias("value").to_frame().group_by("value").len()
    known = vocabulary(counts, rare_at_most=rare_at_most)
    return encode(values, known), known


def quantile_bins(values: pl.Series, *, bins: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Codes (n,) int32 of a numeric column cut at its quantiles, and the edges of the bins: 2 codes more than these.

    Code 0 is the missing value, the bins follow in rising order. Quantiles that coincide are one edge, so there
    may be fewer than `bins` bins.
    """
    present = values.drop_nulls().to_numpy()
    edges = np.unique(np.quantile(present, np.arange(1, bins) / bins))
    codes = 1 + np.searchsorted(edges, values.fill_null(0).to_numpy(), side="left")
    codes[values.is_null().to_numpy()] = 0
    return codes.astype(np.int32), edges


def natural_log_squared(column: str) -> pl.Expr:
    """Criteo CTR's binning of a column of integers: `x > 2` becomes the whole part of ln(x)²."""
    x = pl.col(column)
    return pl.when(x > 2).then(x.log().pow(2).floor()).otherwise(x).cast(pl.Int32)


def log2_squared(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Criteo SSCL's transform of a column of numbers (n,): `x > 2` becomes log2(x)²."""
    return np.where(x > 2, np.log2(np.maximum(x, 2)) ** 2, x)
