"""Single numbers and names from the benchmark's text, with what our runs and analysis say to the same question."""

import re
from collections.abc import Callable

import polars as pl

from llp.results import published
from llp.results.bag_measures import against_hardness, trends
from llp.results.summary import mark_best
from llp.results.table import MISSING, Cell, Table
from llp.results.tables.published import comparable
from llp.results.tables.scores import on_several_keys

Answer = Callable[[pl.DataFrame, re.Match[str]], str | None]


def facts(cells: pl.DataFrame | None, analysis: pl.DataFrame | None, dataset: str) -> Table:
    """What is published in words, and ours beside it where it is there."""
    own = comparable(cells, dataset) if cells is not None else None
    rows = []
    for fact, value, where in published.facts(dataset).iter_rows():
        answer = _first(_FROM_ANALYSIS, fact, analysis) or _first(_FROM_CELLS, fact, own)
        if fact.startswith("outlier") and analysis is not None and own is not None and len(own):
            answer = _outliers(own, analysis)
        shown = f"{int(value):,}" if value.isdecimal() else value.replace(" ", ", ")
        rows.append([Cell(fact), Cell(shown), Cell(answer or MISSING), Cell(where)])
    notes = [f"Published: {published.SOURCE}, in the part that stands under where."]
    return Table(f"{dataset}: facts, published and ours", ["fact", "published", "ours", "where"], rows, notes)


def _first(answers: dict[str, Answer], fact: str, frame: pl.DataFrame | None) -> str | None:
    if frame is None or not len(frame):
        return None
    for pattern, answer in answers.items():
        found = re.match(pattern, fact)
        if found:
            return answer(frame, found)
    return None


def _keys(analysis: pl.DataFrame, columns: int | None = None) -> pl.DataFrame:
    keys = analysis.filter(pl.col("kind") == "feature")
    if columns is None:
        return keys.filter("in_benchmark")
    return keys.filter(pl.col("grouping_key").str.count_matches("_") == columns - 1)


def _end(measure: str, form: str, *, least: bool, scale: float = 1.0) -> Answer:
    def answer(analysis: pl.DataFrame, _: re.Match[str]) -> str | None:
        values = _keys(analysis)[measure].drop_nulls().drop_nans()
        value = values.min() if least else values.max()
        return format(value * scale, form) if isinstance(value, int | float) else None

    return answer


def _span(measure: str, low: float, high: float) -> Answer:
    def answer(analysis: pl.DataFrame, _: re.Match[str]) -> str | None:
        values = _keys(analysis)[measure].drop_nulls().drop_nans()
        ends = values.quantile(low), values.quantile(high)
        return "–".join(f"{end:.2f}" for end in ends if end is not None) or None

    return answer


def _rows(analysis: pl.DataFrame, _: re.Match[str]) -> str | None:
    rows = analysis["n_instances"].drop_nulls()
    return f"{rows[0]:,}" if len(rows) else None


def _best_single(analysis: pl.DataFrame, _: re.Match[str]) -> str | None:
    keys = _keys(analysis, 1).sort("percent_instances_kept", descending=True)
    return f"{keys['percent_instances_kept'][0]:.2f} ({keys['grouping_key'][0]})" if len(keys) else None


def _triples(analysis: pl.DataFrame, _: re.Match[str]) -> str | None:
    keys = _keys(analysis, 3)
    return str(keys["in_benchmark"].sum()) if len(keys) else None  # only with key_size=3


def _bags(analysis: pl.DataFrame, fact: re.Match[str]) -> str | None:
    names = fact[1].split(" and ")
    found = dict(analysis.filter(pl.col("grouping_key").is_in(names)).select("grouping_key", "n_bags").iter_rows())
    return ", ".join(f"{found[name]:,}" for name in names) if len(found) == len(names) else None


def _won(cells: pl.DataFrame, fact: re.Match[str]) -> str | None:
    method = fact[1].lower().replace("-", "_")
    best = mark_best(cells.filter(pl.col("bag_kind") == "feature"), ["row"]).filter("best")
    return f"{(best['method'] == method).sum()} of {best['row'].n_unique()}" if len(best) else None


def _where(cells: pl.DataFrame, fact: re.Match[str]) -> str | None:
    chosen = on_several_keys(cells).filter(~pl.col("instance_labels"))
    end = 0 if fact[1] == "best" else -1
    ends = [part.sort("upwards", "row", descending=[True, False])["row"][end] for _, part in chosen.group_by("column")]
    counts = pl.Series("key", ends, pl.String).value_counts(sort=True)
    return ", ".join(f"{key} ({n} of {len(ends)} methods)" for key, n in counts.head(2).iter_rows()) or None


def _instance(cells: pl.DataFrame, fact: re.Match[str]) -> str | None:
    method = "instance_bce" if fact[1] == "BCE" else "instance_mse"
    own = cells.filter((pl.col("method") == method) & (pl.col("bag_kind") == "random"))["mean"].drop_nulls()
    mean = own.mean()
    return f"{mean:.2f}" if isinstance(mean, float) else None


def _outliers(cells: pl.DataFrame, analysis: pl.DataFrame) -> str | None:
    found = trends(against_hardness(cells, analysis))
    names = pl.concat([found["above"].explode(), found["below"].explode()]).drop_nulls()
    return ", ".join(names.value_counts(sort=True).head(6).to_series()) or None


_FROM_ANALYSIS: dict[str, Answer] = {
    r"rows": _rows,
    r"feature-bag datasets kept": lambda analysis, _: str(len(_keys(analysis))),
    r"best percentage of instances kept by a single column": _best_single,
    r"column triples": _triples,
    r"instances kept by the feature-bag datasets \(millions; smallest": _end(
        "n_instances_kept", ".2f", least=True, scale=1e-6
    ),
    r"instances kept by the feature-bag datasets \(millions; largest": _end(
        "n_instances_kept", ".2f", least=False, scale=1e-6
    ),
    r"bags of keys? (C\w+(?: and C\w+)?)": _bags,
    r"MeanBagSize smallest": _end("mean_bag_size", ".0f", least=True),
    r"MeanBagSize largest": _end("mean_bag_size", ".0f", least=False),
    r"LabelPropStdev most in": _span("std_label_proportion", 0.1, 0.9),
    r"InterIntraRatio range": _span("inter_intra_ratio", 0.0, 1.0),
    r"Cramer's V smallest": _end("cramers_v", ".2f", least=True),
    r"Cramer's V largest": _end("cramers_v", ".2f", least=False),
}
_FROM_CELLS: dict[str, Answer] = {
    r"random-bag datasets": lambda cells, _: str(
        cells.filter(pl.col("bag_kind") == "random")["grouping_key"].n_unique()
    ),
    r"datasets won by ([\w-]+)": _won,
    r"(best|worst) dataset of every method": _where,
    r"instance-level \w+ with (BCE|MSE)": _instance,
}
