"""The sentence that a report's page opens with."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from llp.errors import choice
from llp.results.collect import Config
from llp.results.formats import measured_title

_MOST_ROWS = 4  # bag datasets that it names


def learnt(cells: pl.DataFrame, configs: Sequence[Config]) -> str:
    """A sentence on what the best method of each bag dataset reaches without labels of instances; empty without one."""
    of_constant = f"measures.constant_{cells['metric'][0]}"
    ordered = cells.filter(pl.col("mean").is_not_null()).sort("upwards", descending=True, maintain_order=True)
    best = ordered.filter(~pl.col("instance_labels")).unique("row", keep="first", maintain_order=True)
    if not len(best):
        return ""
    shown = best.head(_MOST_ROWS).rows(named=True)
    reached = choice([f"{one['mean']:.3f} ({', '.join(_told(one, configs))})" for one in shown], "and")
    of = f"of {len(best)} bag datasets the best reach" if len(best) > len(shown) else "sums over bags reach"
    said = f"Without the label of a single instance, {of} {measured_title(cells)} {reached}"
    labelled = dict(reversed(ordered.filter("instance_labels").select("row", "mean").rows()))
    if not labelled or shown[0].get(of_constant) is None:
        return f"{said}."
    all_labels = [labelled.get(one["row"], next(reversed(labelled.values()))) for one in shown]
    floors = [one[of_constant] for one in shown]
    better = 1 if cells["mode"][0] == "max" else -1
    if any(better * (high - low) <= 0 for low, high in zip(floors, all_labels, strict=True)):
        return f"{said}."  # there is no way to go from a constant
    gains = zip(shown, floors, all_labels, strict=True)
    shares = choice([f"{100 * (one['mean'] - low) / (high - low):.0f} %" for one, low, high in gains], "and")
    return f"{said}: {shares} of the way from a constant ({_between(floors)}) to all labels ({_between(all_labels)})."


def _told(cell: dict[str, Any], configs: Sequence[Config]) -> list[str]:
    config = configs[cell["config"]]
    noise = [f"{config['noise.mechanism']} noise of ε = {config['noise.epsilon']}"] if "noise.epsilon" in config else []
    return [cell["row"], cell["column"], *noise]


def _between(values: Sequence[float]) -> str:
    """The least and the greatest, where they differ."""
    return " to ".join(dict.fromkeys(f"{value:.3f}" for value in (min(values), max(values))))
