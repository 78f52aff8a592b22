"""Learning rates chosen by what was held out of training, never by test rows."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from llp.results.collect import Collected

RATE = "optimizer.lr"

FoldSeed = tuple[int, int]


class Chosen(NamedTuple):
    """The rate of runs that differ in it alone."""

    dataset: str
    grouping_key: str
    method: str
    rate: str
    held_out: float  # its mean held-out loss
    criterion: str  # what that loss is, as `held_out_upm`; "the held-out loss" where the records do not say it
    n_runs: int  # folds and seeds that it is the mean of
    n_rates: int  # rates that were compared
    beside: tuple[str, ...] = ()  # rates that have none of these folds and seeds, and so are not compared

    def __str__(self) -> str:
        runs = "1 run" if self.n_runs == 1 else f"{self.n_runs} runs"
        beside = f"; no fold in common: {', '.join(self.beside)}" if self.beside else ""
        where = f"{self.method} on {self.dataset}, {self.grouping_key} ({self.held_out:.4g} over {runs}{beside})"
        return f"{self.rate}, of {self.n_rates}, by {self.criterion}: {where}"


def at_held_out_rates(collected: Collected) -> tuple[Collected, list[Chosen]]:
    """Keep, of runs that differ in `optimizer.lr` alone, those of the rate with the least mean held-out loss.

    Compared on the folds and seeds that all rates have, else those rates that share the one with most. Runs that cannot
    be compared so stay; of a method that trains nothing, the rate with the most runs does.
    """
    alike: dict[frozenset[tuple[str, str]], dict[str, pl.DataFrame]] = defaultdict(dict)
    for (number,), runs in collected.runs.sort("config").group_by("config", maintain_order=True):
        config = dict(collected.configs[int(str(number))])
        if (rate := config.pop(RATE, None)) is not None:
            alike[frozenset(config.items())][rate] = runs
    dropped, chosen = list[int](), list[Chosen]()
    for rates in alike.values():
        losses = _comparable({rate: _losses(runs) for rate, runs in rates.items()})
        if all((runs["best_epoch"] == -1).any() for runs in rates.values()):
            best, worse = max(rates, key=lambda rate: (len(rates[rate]), -float(rate))), set(rates)
        elif len(losses) > 1:
            means = {rate: sum(one.values()) / len(one) for rate, one in losses.items()}
            best, worse = min(means, key=lambda rate: (means[rate], float(rate))), set(losses)
            first = rates[best].row(0, named=True)
            point = (first["dataset"], first["grouping_key"], first["method"])
            beside = tuple(sorted(rates.keys() - losses.keys(), key=float))
            criterion = first["picked_by"] or "the held-out loss"
            chosen.append(Chosen(*point, best, means[best], criterion, len(losses[best]), len(losses), beside))
        else:
            continue
        dropped += [rates[rate]["config"][0] for rate in worse - {best}]
    return replace(collected, runs=collected.runs.filter(~pl.col("config").is_in(dropped))), chosen


def _comparable(losses: Mapping[str, Mapping[FoldSeed, float]]) -> dict[str, dict[FoldSeed, float]]:
    """Losses by rate on the folds and seeds that all these rates have: all rates, or as many as share one."""
    n_rates = Counter(place for one in losses.values() for place in one)
    if not n_rates:
        return {}
    shared = min(place for place, n in n_rates.items() if n == max(n_rates.values()))
    compared = {rate: one for rate, one in losses.items() if shared in one}
    common = set.intersection(*(set(one) for one in compared.values()))
    return {rate: {place: one[place] for place in sorted(common)} for rate, one in compared.items()}


def _losses(runs: pl.DataFrame) -> dict[FoldSeed, float]:
    """Held-out loss of a configuration's runs that have one, by fold and seed."""
    held_out = runs.filter(pl.col("held_out").is_not_null()).select("fold", "seed", "held_out")
    return {(fold, seed): loss for fold, seed, loss in held_out.iter_rows()}
