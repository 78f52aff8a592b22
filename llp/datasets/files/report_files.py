"""Files of reports in each of their forms, as a table for every query: `llp.datasets.files.reports` takes these.

A file per query has its key columns and numbers; a long one has a column `query` too, and every key column once;
those of the AdKDD 2021 challenge name columns by `feature_1_id` and `feature_2_id`; a summary of the aggregation
service is Avro whose buckets are hashes of values, which a file of queries explains.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from llp.config.grouping_keys import readings
from llp.data.table import LabelKind
from llp.datasets.files.aggregation_service import summary
from llp.datasets.files.bags import StatedBags
from llp.datasets.files.options import FilesOptions, Roles
from llp.datasets.files.report_file import BUCKET, COLUMNS, QUERY, File, columns_of, read
from llp.datasets.files.reports import COUNT, PLACE, SCALE, SD, SUM
from llp.datasets.reading.find import DataFile, find_files
from llp.datasets.reading.options import Reading
from llp.datasets.reading.stage import place
from llp.errors import InputError

log = logging.getLogger(__name__)

NUMBERS = (SUM, COUNT, SD, SCALE)
FEATURES = ("feature_1_id", "feature_2_id")

QueryTables = Iterator[tuple[Sequence[str], pl.DataFrame]]
"""The columns of queries, each with its cells."""


class ReportOptions(NamedTuple):
    """Options of reports, as `conf/dataset/files.yaml` has them; `label` names their sums where a file has several."""

    files: Sequence[DataFile]
    queries: str | None
    noise_sd: float | None
    epsilon: float | None
    label: str | None


class Reports(NamedTuple):
    """Cells by the columns of their query, with `PLACE`; what says where one stands; names, bytes and checksums."""

    tables: Mapping[tuple[str, ...], pl.DataFrame]
    place: Callable[[int], str]
    source: list[dict[str, Any]]


def read_reports(given: ReportOptions, rows: pl.LazyFrame, known: Sequence[str], reading: Reading) -> Reports:
    """Read files of reports; `rows` are those whose values buckets may hash, `known` their features."""
    listed = None if given.queries is None else read(find_files([given.queries], option="queries")[0], reading, [], 0)
    starts: list[tuple[str, int]] = []
    found: dict[tuple[str, ...], list[pl.DataFrame]] = {}
    source, total, unused = [] if listed is None else [listed[1]], 0, {"noise_sd", "epsilon", "queries"}
    for file in given.files:
        one, of_file = read(file, reading, starts, total)
        total, source = total + one.frame.height, [*source, of_file]
        if BUCKET in one.frame.columns:
            unused -= {"epsilon", "queries"}
            tables = summary(one, None if listed is None else listed[0], rows, given.epsilon)
        elif FEATURES[0] in one.frame.columns:
            tables = _by_feature(one, given.label)
        elif QUERY in one.frame.columns:
            unused -= {"queries"}
            tables = _long(one, None if listed is None else columns_of(listed[0]))
        else:
            keys = [name for name in one.frame.columns if name not in (*NUMBERS, PLACE)]
            tables = iter([(keys, one.numbers({name: name for name in NUMBERS if name in one.frame.columns}))])
        for columns, table in tables:
            if lacking := [name for name in columns if name not in known]:
                raise InputError(
                    f"{one.place(table[PLACE][0])}: the query is of {lacking[0]!r}, which is no feature of the rows; "
                    f"they have {', '.join(known)}"
                )
            if SUM not in table.columns:
                raise one.lacks(SUM, f"; expected key columns, {SUM}, and perhaps {COUNT}, {SD} or {SCALE}")
            if given.noise_sd is not None and not {SD, SCALE} & {*table.columns}:
                unused -= {"noise_sd"}
                table = table.with_columns(pl.lit(given.noise_sd).alias(SD))
            key = tuple(sorted(columns, key=known.index))
            found.setdefault(key, []).append(table.select(*key, *(n for n in NUMBERS if n in table.columns), PLACE))
    for name in sorted(unused):
        if (value := getattr(given, name)) is not None:
            raise InputError(f"Invalid {name}={value}: no file of reports= lacks what it says; leave it out")
    joined = {key: pl.concat(some, how="diagonal_relaxed") for key, some in found.items()}
    return Reports(joined, partial(place, starts), source)


def with_keys(options: FilesOptions, report: Reports) -> FilesOptions:
    """The options with the columns of queries as categorical ones."""
    roles = options.roles
    keys = list(dict.fromkeys(name for query in report.tables for name in query))
    for option in ("numeric", "dates"):
        if wrong := [name for name in keys if name in getattr(roles, option)]:
            raise InputError(f"Invalid {option}={wrong[0]}: reports= has a query of it; expected categorical")
    names = (*roles.categorical, *(name for name in keys if name not in roles.categorical))
    return options.model_copy(update={"roles": roles.model_copy(update={"categorical": names})})


def label_kind_of(report: Reports, roles: Roles) -> LabelKind:
    """What the option says, else what the sums and counts look like; of noisy ones binary."""
    tables = report.tables.values()
    numbers = [
        table.select(SUM, (pl.col(COUNT) if COUNT in table.columns else pl.lit(None, pl.Float64)).alias("size"))
        for table in tables
        if not {SD, SCALE} & {*table.columns}
    ]
    looks = StatedBags(pl.concat(numbers), SUM).label_kind if len(numbers) == len(tables) else "binary"
    kind = looks if roles.label_kind == "auto" else roles.label_kind
    log.info("the labels are taken as %s; label_kind=binary or real says otherwise", kind)
    return kind


def _long(one: File, listed: Mapping[str, list[str]] | None) -> QueryTables:
    """The queries of a long file, of the columns that their name says, or a file of queries."""
    keys = [name for name in one.frame.columns if name not in (*NUMBERS, QUERY, PLACE)]
    frame = one.numbers({name: name for name in NUMBERS if name in one.frame.columns})
    for (query,), table in frame.group_by(pl.col(QUERY).fill_null(""), maintain_order=True):
        at = frame[QUERY].fill_null("") == query
        columns = None if listed is None else listed.get(str(query))
        if listed is not None and columns is None:
            raise one.wrong(at, f"the query {query!r} is not in queries=; expected {', '.join(map(repr, listed))}")
        if columns is None:
            read = [[]] if query in ("", "total") else list(islice(readings(str(query), keys), 2))
            if len(read) != 1:
                how = "in several ways" if read else f"of no columns of {', '.join(keys)}"
                raise one.wrong(
                    at, f"the query {query!r} is named {how}; expected columns side by side, as "
                    f"{'_'.join(keys[:2])}, or queries=FILE with the columns {QUERY} and {COLUMNS}",
                )  # fmt: skip
            columns = read[0]
        if lacking := [name for name in columns if name not in keys]:
            raise one.wrong(at, f"the query {query!r} is of {lacking[0]!r}, which is no column of {one.name}")
        for name in (name for name in keys if name not in columns):
            if table[name].null_count() < table.height:
                filled = at & frame[name].is_not_null()
                value, of = frame[name].filter(filled)[0], " and ".join(columns) or "no column"
                raise one.wrong(filled, f"{name} is {value!r}, but the query {query!r} is of {of}; expected it empty")
        yield columns, table


def _by_feature(one: File, label: str | None) -> QueryTables:
    """Singles or pairs of the AdKDD challenge: the cells of `hash_0` to `hash_18`, pairs in either order."""
    sums = [name for name in one.frame.columns if name.startswith("nb_")]
    of_label = f"nb_{label}s"
    if of_label not in sums:
        labels = " or ".join(f"label={name[3:-1]}" for name in sums)
        raise InputError(
            f"{one.name} has the sums {', '.join(sums)}, and label={label}; expected {labels or 'a column nb_clicks'}"
        )
    features = [name for name in FEATURES if name in one.frame.columns]
    values = [name.replace("id", "value") for name in features]
    if lacking := [name for name in values if name not in one.frame.columns]:
        raise one.lacks(lacking[0])
    counts = {COUNT: COUNT} if COUNT in one.frame.columns else {}
    frame = one.numbers({SUM: of_label, **counts, **{name: name for name in features}})
    for name in features:
        if (wrong := (frame[name] % 1 != 0) | (frame[name] < 0)).any():
            value = frame[name].filter(wrong)[0]
            raise one.wrong(wrong, f"{name} is {value:g}, expected the number of a column hash_0, hash_1, ...")
    if len(features) == 2 and (same := frame[FEATURES[0]] == frame[FEATURES[1]]).any():
        raise one.wrong(same, f"{FEATURES[0]} and {FEATURES[1]} are the same; expected a pair of columns")
    for ids, table in frame.group_by(features, maintain_order=True):
        columns = [f"hash_{number:.0f}" for number in ids]
        keys = (pl.col(value).alias(column) for value, column in zip(values, columns, strict=True))
        yield columns, table.select(SUM, *counts, PLACE, *keys)
