"""Reports: label sums over the cells of several queries of the same rows, as tables of a few columns each.

A query is a set of raw columns; its table has them, `label_sum`, perhaps `count`, and perhaps `noise_sd` or
`noise_scale` (of Laplace noise). A cell that is not there is not published. No column is a query too: of the total.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.cells import Cells, Query, layout
from llp.data.given_bags import ROUNDING
from llp.data.schema import LARGEST_NUMBER
from llp.data.table_writer import CHUNK_ROWS
from llp.datasets.files.recipe import Recipe, RowCoder
from llp.errors import InputError, further

log = logging.getLogger(__name__)

SUM, COUNT, SD, SCALE = "label_sum", "count", "noise_sd", "noise_scale"
PLACE = "\0place"
"""Of a table that was read from files: which of all their records each cell is."""
NO_ROW = "Invalid reports: no cell holds a row of the table; expected the same values in both"
WHOLE = 1e-3
"""Of an exact sum of labels 0 and 1: rounding that is left where it was made of a mean."""
APART = 4.0
"""Standard deviations of noise that two totals of the same rows may differ by without a word."""


def publish(
    recipe: Recipe, categorical: NDArray[np.int32], reports: Mapping[tuple[str, ...], pl.DataFrame], *, binary: bool,
    sample: bool = False, place: Callable[[int], str] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Find the cells of a report (tables of queries by their columns) that hold rows, with codes (n, Fc).

    Of a `sample` the report counts further rows, so that its counts are needed; `place` says where a cell stands, from
    its `PLACE`. Refuses a table that lacks a column or holds a wrong value, a cell that stands twice, a count that is
    not that of the rows, and a sum that its rows cannot have. Gives, by query and value, `id`, `size`, `label_sum`,
    `query` (list of the table's columns), `code` within it, `noise_variance`, and of a sample `count`.
    """
    coded = [feature for feature in recipe.features if feature.value != "number"]
    names = [feature.name for feature in coded]
    queries = [_query(columns, names, frame) for columns, frame in reports.items()]
    if len(set(queries)) < len(queries):
        raise InputError("Invalid reports: two tables have the same columns; expected one for each set of columns")
    sizes = [column.vocab_size or 0 for column in recipe.table_columns if column.kind == "categorical"]
    radix, base = layout(sizes, queries)
    found, lost = [], []
    for q, (columns, frame) in enumerate(reports.items()):
        features = [feature for feature in coded if feature.column in columns]
        codes = RowCoder(features, recipe.vocabularies, recipe.options).encode(frame.select(columns)).codes
        code, known = np.full(frame.height, base[q]), np.ones(frame.height, bool)
        for feature, of_column in zip(features, codes, strict=True):
            known &= of_column > 0
            code += radix[q, names.index(feature.name)] * of_column.astype(np.int64)
        cells = _numbers(frame, columns, place).with_columns(
            pl.Series("code", code),
            pl.lit(q).alias("place"),
            pl.lit([feature.name for feature in features], pl.List(pl.String)).alias("query"),
        )
        found.append(cells.filter(known))
        lost.append(cells.filter(~known))
    cells, unknown = pl.concat(found).sort("code", maintain_order=True), pl.concat(lost)
    for some, by in ((cells, "code"), (unknown, "id")):
        if len(twice := some.filter(pl.col(by).is_duplicated())):
            other = twice.filter(pl.col(by) == twice[by][0])
            again = "" if place is None else f", again in {place(other[PLACE][1])}"
            raise InputError(f"Invalid reports: {_said(twice, 0, place)} stands twice{again}; expected each once")
    if cells.is_empty():
        raise InputError(NO_ROW)
    held = Cells(tuple(queries), radix, base, cells["code"].to_numpy(), cells["place"].to_numpy())
    size = np.zeros(len(held) + 2, np.int64)
    for start in range(0, len(categorical), CHUNK_ROWS):
        size += np.bincount(held.of_rows(categorical[start : start + CHUNK_ROWS]).ravel(), minlength=len(size))
    cells = cells.with_columns(size=pl.Series(size[1:-1]))
    unknown = pl.concat([unknown, cells.filter(pl.col("size") == 0).drop("size")])
    cells = cells.filter(pl.col("size") > 0)
    if cells.is_empty():
        raise InputError(NO_ROW)
    if len(unknown):
        log.log(
            logging.INFO if sample else logging.WARNING,  # a sample lacks rare values
            "%d cells of the report hold no row of the table, and are left out, such as %s",
            len(unknown), _said(unknown, 0, place),
        )  # fmt: skip
    cells = _checked(cells, place, binary=binary, sample=sample)
    if not sample:
        _check_totals(cells, len(categorical))
    within = pl.col("code") - pl.Series(base[cells["place"].to_numpy()])
    return cells.select("id", "size", SUM, "query", within, "noise_variance", *([COUNT] if sample else []))


def _said(cells: pl.DataFrame, i: int, place: Callable[[int], str] | None) -> str:
    return f"the cell {cells['id'][i]}" + ("" if place is None else f" ({place(cells[PLACE][i])})")


def _query(columns: Sequence[str], names: Sequence[str], frame: pl.DataFrame) -> Query:
    """Positions of a query's columns among the table's categorical ones."""
    if unknown := sorted({*columns} - {*names}):
        raise InputError(
            f"Invalid reports: {unknown[0]!r} is no categorical column of the rows; expected some of "
            f"{', '.join(names)}, or name it in categorical="
        )
    lacking = sorted({*columns, SUM} - {*frame.columns})
    other = {*frame.columns} - {*columns, SUM, COUNT, SD, SCALE, PLACE}
    if lacking or other or len({*columns}) < len(columns):
        raise InputError(
            f"Invalid reports[{tuple(columns)}]: it has the columns {', '.join(frame.columns)}; expected "
            f"{', '.join([*dict.fromkeys(columns), SUM])}, and perhaps {COUNT}, {SD} or {SCALE}"
        )
    return tuple(sorted(names.index(name) for name in columns))


def _numbers(frame: pl.DataFrame, columns: Sequence[str], place: Callable[[int], str] | None) -> pl.DataFrame:
    """Id, sum, count (or null), noise variance and `PLACE` (or 0) of a table's cells."""
    rows = frame.select(columns).rows() if columns else [()] * frame.height
    ids = [" ".join(f"{name}={value}" for name, value in zip(columns, row, strict=True)) or "total" for row in rows]
    if SD in frame.columns and SCALE in frame.columns:
        raise InputError(f"Invalid reports[{tuple(columns)}]: it has {SD} and {SCALE}; expected one of them")
    found = {"id": pl.Series(ids, dtype=pl.String), PLACE: pl.Series(range(len(ids)), dtype=pl.Int64)}
    if PLACE in frame.columns:
        found[PLACE] = frame[PLACE]
    noisy = {SD, SCALE} & {*frame.columns}
    for name in (SUM, COUNT, SD, SCALE):
        if name not in frame.columns:
            continue
        values = frame[name].cast(pl.Float64, strict=False)
        least = -LARGEST_NUMBER if name == SUM or (name == COUNT and noisy) else 0.0
        wrong = ~values.is_between(least, LARGEST_NUMBER).fill_null(value=False)  # NaN is in no interval
        if wrong.any():
            at = wrong.arg_max() or 0
            expected = "a finite number" if least < 0 else "a number >= 0"
            said = _said(pl.DataFrame(found), at, place)
            raise InputError(f"Invalid reports: {name} of {said} is {frame[name][at]!r}, expected {expected}")
        found[name] = values
    deviation = found.pop(SD, None)
    variance = None if deviation is None else deviation**2
    if (scale := found.pop(SCALE, None)) is not None:
        variance = 2 * scale**2
    found.setdefault(COUNT, pl.repeat(None, len(ids), dtype=pl.Float64, eager=True))
    found["noise_variance"] = pl.zeros(len(ids), dtype=pl.Float64, eager=True) if variance is None else variance
    return pl.DataFrame(found)


def _checked(cells: pl.DataFrame, place: Callable[[int], str] | None, *, binary: bool, sample: bool) -> pl.DataFrame:
    """The cells, of a sample with counts of at least its own rows; what neither rows nor labels can have is refused."""
    reach = pl.col("noise_variance").sqrt() * (10 + np.log(len(cells)))  # beyond it lies one Laplace draw in e^14
    most = pl.col("size")
    if sample:
        if len(lacking := cells.filter(pl.col(COUNT).is_null())):
            raise InputError(
                f"Invalid rows=unknown: {_said(lacking, 0, place)} has no {COUNT}; expected one of each cell, as the "
                "rows are but a sample of those that the report counts"
            )
        if len(fewer := cells.filter(pl.col(COUNT) < most)):
            log.warning(
                "%d of the %d cells have a %s below their rows in the sample, such as %s: these rows count",
                len(fewer), len(cells), COUNT, _said(fewer, 0, place),
            )  # fmt: skip
        cells = cells.with_columns(pl.max_horizontal(COUNT, "size").alias(COUNT))
        most = pl.col(COUNT) + reach
    else:
        other = cells.filter((pl.col(COUNT) - most).abs() > reach + ROUNDING * most)
        if len(other):
            one = other.row(0, named=True)
            raise InputError(
                f"Invalid reports: {_said(other, 0, place)} has {COUNT} {one[COUNT]:g} and {one['size']} "
                f"rows{further(len(other))}; expected a report of these rows, or rows=unknown where they are a sample"
            )
    broken = pl.lit(binary) & (pl.col("noise_variance") == 0) & ((pl.col(SUM) - pl.col(SUM).round()).abs() > WHOLE)
    if len(other := cells.filter(broken)):
        raise InputError(
            f"Invalid reports: {_said(other, 0, place)} has {SUM} {other[SUM][0]:g}{further(len(other))}; expected "
            f"whole sums of labels 0 and 1, or a column {SD} or {SCALE} that states the noise in the sums"
        )
    slack = reach + ROUNDING * most
    wrong = cells.filter((pl.col(SUM) < -slack) | (pl.col(SUM) > most + slack)) if binary else cells.clear()
    if len(wrong):
        one = wrong.row(0, named=True)
        noise = f"a column {SD} or {SCALE} that states the noise in the sums"
        if one["noise_variance"]:
            noise = f"more noise than that of a standard deviation of {one['noise_variance'] ** 0.5:.3g}"
        raise InputError(
            f"Invalid reports: {_said(wrong, 0, place)} of {one[COUNT] if sample else one['size']:g} rows has {SUM} "
            f"{one[SUM]:g}{further(len(wrong))}; expected labels of 0 and 1, or {noise}"
        )
    return cells


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
