"""Single numbers and names from the benchmark's text, and our answers to the question beside each in the CSV file."""

from collections.abc import Callable, Mapping

import polars as pl

from llp.results import published
from llp.results.bag_measures import against_hardness, trends
from llp.results.summary import mark_best
from llp.results.table import MISSING, Cell, Table
from llp.results.tables.published import comparable
from llp.results.tables.scores import on_several_keys


def facts(cells: pl.DataFrame, analysis: pl.DataFrame | None, dataset: str) -> Table:
    """Published facts, and our answers where there are any."""
    own, rows = comparable(cells, dataset), []
    for fact, value, where, question in published.facts(dataset).iter_rows():
        shown = f"{int(value):,}" if value.isdecimal() else value.replace(" ", ", ")
        rows.append([Cell(fact), Cell(shown), Cell(_answer(question, own, analysis) or MISSING), Cell(where)])
    notes = [f"Published: {published.SOURCE}, in the part that stands under where."]
    return Table(f"{dataset}: facts, published and ours", ["fact", "published", "ours", "where"], rows, notes)


def _answer(question: str, cells: pl.DataFrame, analysis: pl.DataFrame | None) -> str | None:
    name, *arguments = question.split()
    if name == "outliers":
        return _outliers(cells, analysis) if len(cells) and analysis is not None else None
    frame, answers = (analysis, _OF_ANALYSIS) if name in _OF_ANALYSIS else (cells, _OF_CELLS)
    return None if frame is None or not len(frame) else answers[name](frame, *arguments)


def _keys(analysis: pl.DataFrame, columns: int | None = None) -> pl.DataFrame:
    keys = analysis.filter(pl.col("kind") == "feature")
    if columns is None:
        return keys.filter("in_benchmark")
    return keys.filter(pl.col("grouping_key").str.count_matches("_") == columns - 1)


def _quantiles(analysis: pl.DataFrame, measure: str, form: str, *shares: str, scale: float = 1.0) -> str | None:
    """Quantiles of a measure over the benchmark's keys: at 0 the smallest, at 1 the largest."""
    values = _keys(analysis)[measure].drop_nulls().drop_nans()
    ends = [values.quantile(float(share)) for share in shares]
    return "–".join(format(end * scale, form) for end in ends if end is not None) or None


def _rows(analysis: pl.DataFrame) -> str | None:
    rows = analysis["n_instances"].drop_nulls()
    return f"{rows[0]:,}" if len(rows) else None


def _best_single(analysis: pl.DataFrame) -> str | None:
    keys = _keys(analysis, 1).sort("percent_instances_kept", descending=True)
    return f"{keys['percent_instances_kept'][0]:.2f} ({keys['grouping_key'][0]})" if len(keys) else None


def _triples(analysis: pl.DataFrame) -> str | None:
    keys = _keys(analysis, 3)
    return str(keys["in_benchmark"].sum()) if len(keys) else None  # only with key_size=3


def _bags(analysis: pl.DataFrame, *names: str) -> str | None:
    found = dict(analysis.filter(pl.col("grouping_key").is_in(names)).select("grouping_key", "n_bags").iter_rows())
    return ", ".join(f"{found[name]:,}" for name in names) if len(found) == len(names) else None


def _won(cells: pl.DataFrame, method: str) -> str | None:
    best = mark_best(cells.filter(pl.col("bag_kind") == "feature"), ["row"]).filter("best")
    return f"{(best['method'] == method).sum()} of {best['row'].n_unique()}" if len(best) else None


def _where(cells: pl.DataFrame, end: str) -> str | None:
    chosen = on_several_keys(cells).filter(~pl.col("instance_labels"))
    place = 0 if end == "best" else -1
    ends = [
        part.sort("upwards", "row", descending=[True, False])["row"][place] for part in chosen.partition_by("column")
    ]
    counts = pl.Series("key", ends, pl.String).value_counts(sort=True)
    return ", ".join(f"{key} ({n} of {len(ends)} methods)" for key, n in counts.head(2).iter_rows()) or None


def _on_instances(cells: pl.DataFrame, method: str) -> str | None:
    own = cells.filter((pl.col("method") == method) & (pl.col("bag_kind") == "random"))["mean"].drop_nulls()
    mean = own.mean()
    return f"{mean:.2f}" if isinstance(mean, float) else None


def _outliers(cells: pl.DataFrame, analysis: pl.DataFrame) -> str | None:
    found = trends(against_hardness(cells, analysis))
    names = pl.concat([found["above"].explode(), found["below"].explode()]).drop_nulls()
    return ", ".join(names.value_counts(sort=True).head(6).to_series()) or None


_OF_ANALYSIS: Mapping[str, Callable[..., str | None]] = {
    "rows": _rows,
    "keys": lambda analysis: str(len(_keys(analysis))),
    "best_single": _best_single,
    "triples": _triples,
    "bags": _bags,
    "quantiles": _quantiles,
    "millions": lambda *question: _quantiles(*question, scale=1e-6),
}
_OF_CELLS: Mapping[str, Callable[..., str | None]] = {
    "random_keys": lambda cells: str(cells.filter(pl.col("bag_kind") == "random")["grouping_key"].n_unique()),
    "won": _won,
    "where": _where,
    "on_instances": _on_instances,
    "nothing": lambda cells: None,
}
