"""Learning rates chosen by what was held out of training, never by test rows."""

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from llp.results.collect import Collected

RATE = "optimizer.lr"


class Chosen(NamedTuple):
    """The rate of runs that differ in it alone: which one, its mean held-out loss, over how many folds and seeds."""

    dataset: str
    grouping_key: str
    method: str
    rate: str
    held_out: float
    n_runs: int


def at_held_out_rates(collected: Collected) -> tuple[Collected, list[Chosen]]:
    """Keep, of runs that differ in `optimizer.lr` alone, those of the rate with the least mean held-out loss.

    Rates are compared on the folds and seeds that all of them have; so a search on one fold chooses for all. Runs
    whose rates cannot be compared that way stay: of protocol=paper, or with no fold in common. A method that trains
    nothing is the same at every rate: that with the most runs stays.

    Returns
    -------
    Collected
        With fewer runs.
    list of Chosen
        The choices, in the runs' order.
    """
    alike: dict[frozenset[tuple[str, str]], dict[str, int]] = defaultdict(dict)
    for number in collected.runs["config"].unique().sort():
        config = collected.configs[number]
        rest = frozenset((path, value) for path, value in config.items() if path != RATE)
        if RATE in config:
            alike[rest][config[RATE]] = number
    untrained = set(collected.runs.filter(pl.col("best_epoch") == -1)["config"])
    dropped, chosen = set[int](), list[Chosen]()
    for rates in alike.values():
        losses = {rate: _losses(collected.runs, number) for rate, number in rates.items()}
        places = [{place for place, loss in one.items() if loss is not None} for one in losses.values()]
        common = set.intersection(*places)
        if untrained.issuperset(rates.values()):
            most = max(rates, key=lambda rate: (len(losses[rate]), -float(rate)))
            dropped |= {number for rate, number in rates.items() if rate != most}
        if len(rates) < 2 or not common:
            continue
        means = {rate: sum(one[place] or 0.0 for place in common) / len(common) for rate, one in losses.items()}
        best = min(means, key=lambda rate: (means[rate], float(rate)))
        dropped |= {number for rate, number in rates.items() if rate != best}
        first = collected.runs.filter(pl.col("config") == rates[best]).row(0, named=True)
        point = (first["dataset"], first["grouping_key"], first["method"])
        chosen.append(Chosen(*point, best, means[best], len(common)))
    return replace(collected, runs=collected.runs.filter(~pl.col("config").is_in(list(dropped)))), chosen


def _losses(runs: pl.DataFrame, config: int) -> dict[tuple[int, int], float | None]:
    """Held-out loss of a configuration's runs, by fold and seed."""
    own = runs.filter(pl.col("config") == config).select("fold", "seed", "held_out")
    return {(fold, seed): loss for fold, seed, loss in own.iter_rows()}
