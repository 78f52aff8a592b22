"""Findings in sentences: which method wins where, how sure that is, how the runs were made."""

from collections.abc import Sequence

import polars as pl

from llp.results.formats import BAG_KINDS, metric_title
from llp.results.tables.significance import ranking

PROTOCOLS = {
    "paper": "Protocol paper: the epoch is selected on the test rows, so the scores are optimistic.",
    "holdout": "Protocol holdout: the epoch is selected on bags that are held out of training.",
}


def findings(cells: pl.DataFrame, dataset: pl.DataFrame, differences: Sequence[str] = ()) -> list[str]:
    """Sentences on the cells of one protocol and metric of a dataset; the first says which method wins where."""
    said = [sentence for kind in BAG_KINDS if (sentence := _winners(cells.filter(pl.col("bag_kind") == kind), kind))]
    if not said:
        said = ["No bag dataset has two methods on bags with as many runs, so nothing can be compared yet."]
    ranks = _ranks(cells)
    protocol = str(cells["protocol"][0])
    return [
        *said,
        *([ranks] if ranks else []),
        PROTOCOLS.get(protocol, f"Protocol {protocol}."),
        *differences,
        *_only_here(cells, dataset),
    ]


def _winners(cells: pl.DataFrame, kind: str) -> str | None:
    won = cells.filter("best")
    if not len(won):
        return None
    n_rows = won["row"].n_unique()
    counts = won["column"].value_counts(sort=True)
    first, *others = counts.iter_rows()
    also = ", ".join(f"{name} on {n}" for name, n in others[:3])
    where = f"{n_rows} dataset{'s' if n_rows > 1 else ''} of {BAG_KINDS[kind]}"
    return f"{first[0]} has the best test {metric_title(cells)} on {first[1]} of {where}{'; ' + also if also else ''}."


def _ranks(cells: pl.DataFrame) -> str | None:
    found = ranking(cells)
    if found is None:
        return None
    best, *rest = found.mean
    alike = [name for rank, name in zip(rest, found.methods[1:], strict=True) if rank - best < found.limit]
    apart = f"not told apart from it: {', '.join(alike)}" if alike else "all others are told apart from it"
    over = f"over {len(found.scores)} bag datasets; at the 5 % level {apart}."
    return f"{found.methods[0]} has the best mean rank, {best:.2f} {over}"


def _only_here(cells: pl.DataFrame, dataset: pl.DataFrame) -> list[str]:
    """A sentence on methods that other protocols of the dataset lack, and on those that only the others have."""
    protocol, metric = cells["protocol"][0], cells["metric"][0]
    others = dataset.filter((pl.col("protocol") != protocol) & (pl.col("metric") == metric))
    here, there = set(cells["method"]), set(others["method"])
    if not there or here == there:
        return []
    said = [f"only under protocol {protocol}: {', '.join(sorted(here - there))}"] if here - there else []
    if there - here:
        names = ", ".join(sorted(set(others.filter(pl.col("method").is_in(list(there - here)))["protocol"])))
        said.append(f"only under {names}: {', '.join(sorted(there - here))}")
    return [f"Methods cannot be compared across protocols: {'; '.join(said)}."]
