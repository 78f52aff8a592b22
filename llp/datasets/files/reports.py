"""Reports: label sums over the cells of several queries of the same rows, as tables of a few columns each.

A query is a set of raw columns; its table has them, `label_sum`, perhaps `count`, and perhaps `noise_sd` or
`noise_scale` (of Laplace noise). A cell that is not there is not published. No column is a query too: of the total.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.cells import Cells, Query, layout
from llp.data.label_sums import outside
from llp.data.schema import LARGEST_NUMBER
from llp.datasets.files.coder import RowCoder
from llp.datasets.files.recipe import Recipe
from llp.errors import InputError

log = logging.getLogger(__name__)

SUM, COUNT, SD, SCALE = "label_sum", "count", "noise_sd", "noise_scale"
APART = 4.0
"""Standard deviations of noise that two totals of the same rows may differ by without a word."""


class Published(NamedTuple):
    """A report's cells that hold rows.

    Attributes
    ----------
    bags : pl.DataFrame
        `id`, `size`, `label_sum`, `query` (list of the table's columns), `noise_variance`; by query and value.
    number, instance : ndarray
        int32 and int64 (m,): the cell of a row and that row, rows not falling.
    """

    bags: pl.DataFrame
    number: NDArray[np.int32]
    instance: NDArray[np.int64]


def publish(
    recipe: Recipe, categorical: NDArray[np.int32], reports: Mapping[tuple[str, ...], pl.DataFrame], *, binary: bool
) -> Published:
    """Find the rows of a report's cells.

    Parameters
    ----------
    recipe : Recipe
        How the rows were coded.
    categorical : ndarray
        (n, Fc) int32 codes of the rows.
    reports : Mapping
        By its columns: the table of each query.
    binary : bool
        Kind of the labels.

    Raises
    ------
    InputError
        A table lacks a column or holds a wrong value, a cell stands twice, its count is not that of the rows, or its
        sum is none that its rows can have.
    """
    coded = [feature for feature in recipe.features if feature.value != "number"]
    names = [feature.name for feature in coded]
    queries = [_query(columns, names, frame) for columns, frame in reports.items()]
    if len(set(queries)) < len(queries):
        raise InputError("Invalid reports: two tables have the same columns; expected one for each set of columns")
    sizes = [column.vocab_size or 0 for column in recipe.table_columns if column.kind == "categorical"]
    radix, base = layout(sizes, queries)
    found, n_lost = [], 0
    for q, (columns, frame) in enumerate(reports.items()):
        features = [feature for feature in coded if feature.column in columns]
        codes = RowCoder(features, recipe.vocabularies, recipe.options).encode(frame.select(columns)).codes
        code = np.full(frame.height, base[q])
        for feature, of_column in zip(features, codes, strict=True):
            code += radix[q, names.index(feature.name)] * of_column.astype(np.int64)
        known = (codes > 0).all(0)
        n_lost += int((~known).sum())
        cells = _numbers(frame, columns).with_columns(
            pl.Series("code", code),
            pl.lit(q).alias("place"),
            pl.lit([feature.name for feature in features], pl.List(pl.String)).alias("query"),
        )
        cells = cells.filter(pl.Series(known))
        if len(twice := cells.filter(pl.col("code").is_duplicated())):
            raise InputError(
                f"Invalid reports: the cell {twice[0, 'id']} stands twice (and {len(twice) // 2 - 1} more, perhaps of "
                "values that rare_threshold= merges); expected each once"
            )
        found.append(cells)
    cells = pl.concat(found).sort("code")
    if cells.is_empty():
        raise InputError("Invalid reports: no cell holds a row of X; expected the same values in both")
    held = Cells(tuple(queries), radix, base, cells["code"].to_numpy(), cells["place"].to_numpy())
    ids = held.of_rows(categorical)
    size = np.bincount(ids.ravel(), minlength=len(held) + 2)[1:-1]
    n_lost += int((size == 0).sum())
    if n_lost:
        log.warning("%d cells of the report hold no row of X, and are left out", n_lost)
    cells = cells.with_columns(size=pl.Series(size))
    number = np.cumsum(size > 0, dtype=np.int32) - 1
    published = ids <= len(held)
    instance = np.repeat(np.arange(len(ids)), published.sum(1))
    cells = cells.filter(pl.col("size") > 0)
    if cells.is_empty():
        raise InputError("Invalid reports: no cell holds a row of X; expected the same values in both")
    _check(cells, binary=binary)
    _check_totals(cells, len(ids))
    bags = cells.select("id", "size", SUM, "query", "noise_variance")
    return Published(bags, number[ids[published] - 1], instance)


def _query(columns: Sequence[str], names: Sequence[str], frame: pl.DataFrame) -> Query:
    """Positions of a query's columns among the table's categorical ones."""
    if unknown := sorted({*columns} - {*names}):
        raise InputError(
            f"Invalid reports: {unknown[0]!r} is no categorical column of X; expected some of {', '.join(names)}, or "
            f"name it in categorical="
        )
    lacking = sorted({*columns, SUM} - {*frame.columns})
    if lacking or len({*columns}) < len(columns):
        raise InputError(
            f"Invalid reports[{tuple(columns)}]: it has the columns {', '.join(frame.columns)}; expected "
            f"{', '.join([*dict.fromkeys(columns), SUM])}, and perhaps {COUNT}, {SD} or {SCALE}"
        )
    return tuple(sorted(names.index(name) for name in columns))


def _numbers(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Id, sum, count (or null) and noise variance of a table's cells."""
    rows = frame.select(columns).rows() if columns else [()] * frame.height
    ids = [" ".join(f"{name}={value}" for name, value in zip(columns, row, strict=True)) or "total" for row in rows]
    if SD in frame.columns and SCALE in frame.columns:
        raise InputError(f"Invalid reports[{tuple(columns)}]: it has {SD} and {SCALE}; expected one of them")
    found = {"id": pl.Series(ids, dtype=pl.String)}
    for name in (SUM, COUNT, SD, SCALE):
        if name not in frame.columns:
            continue
        values = frame[name].cast(pl.Float64, strict=False)
        least = -LARGEST_NUMBER if name == SUM else 0.0
        wrong = ~values.is_between(least, LARGEST_NUMBER).fill_null(value=False)  # NaN is in no interval
        if wrong.any():
            at = wrong.arg_max() or 0
            expected = "a finite number" if name == SUM else "a number >= 0"
            raise InputError(
                f"Invalid reports: {name} of the cell {ids[at]} is {frame[name][at]!r}, expected {expected}"
            )
        found[name] = values
    deviation = found.pop(SD, None)
    variance = None if deviation is None else deviation**2
    if (scale := found.pop(SCALE, None)) is not None:
        variance = 2 * scale**2
    found.setdefault(COUNT, pl.repeat(None, len(ids), dtype=pl.Float64, eager=True))
    found["noise_variance"] = pl.zeros(len(ids), dtype=pl.Float64, eager=True) if variance is None else variance
    return pl.DataFrame(found)


def _check(cells: pl.DataFrame, *, binary: bool) -> None:
    """Refuse counts that are not those of the rows, and exact sums that no labels have."""
    slack = APART * pl.col("noise_variance").sqrt() + 1e-6 * pl.col("size")
    other = cells.filter((pl.col(COUNT) - pl.col("size")).abs() > slack)
    if len(other):
        one = other.row(0, named=True)
        raise InputError(
            f"Invalid reports: the cell {one['id']} has count {one[COUNT]:g} and {one['size']} rows of X (and "
            f"{len(other) - 1} more differ); expected a report of these rows"
        )
    exact = cells.filter(pl.col("noise_variance") == 0)
    wrong = exact.filter(pl.Series(outside(exact[SUM].to_numpy(), exact["size"].to_numpy()), dtype=pl.Boolean))
    if binary and len(wrong):
        one = wrong.row(0, named=True)
        raise InputError(
            f"Invalid reports: the cell {one['id']} of {one['size']} rows has {SUM} {one[SUM]:g} (and {len(wrong) - 1} "
            f"more); expected labels of 0 and 1, or a column {SD} or {SCALE} that states the noise in the sums"
        )


def _check_totals(cells: pl.DataFrame, rows: int) -> None:
    """Say which queries that hold every row have totals further apart than their noise explains."""
    totals = cells.group_by("place", maintain_order=True).agg(
        pl.col("query").first(), pl.col("size").sum(), pl.col(SUM).sum(), pl.col("noise_variance").sum()
    )
    whole = totals.filter(pl.col("size") == rows).rows(named=True)
    for one in whole[1:]:
        first = whole[0]
        deviation = np.sqrt(one["noise_variance"] + first["noise_variance"])
        if abs(one[SUM] - first[SUM]) > APART * deviation + 1e-6 * max(rows, abs(first[SUM])):
            log.warning(
                "the sums of the query %s add up to %g, those of %s to %g: the same rows cannot have both, unless "
                "noise of a standard deviation of more than the stated %.3g is in them",
                "_".join(one["query"]) or "total", one[SUM], "_".join(first["query"]) or "total", first[SUM], deviation,
            )  # fmt: skip
