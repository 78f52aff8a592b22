"""Runs of the same point that differ in their configuration: told apart, and named by what differs.

Other settings of a method (`method.reg=0.1`) give it a column of its own, all others (`optimizer.lr=0.01`,
`model=linear`, `grouping_key.low_thresh=10`) a row.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import polars as pl

from llp.results.collect import Collected, Config

# order in which settings are tried as labels; those that add no distinction are dropped
_ORDER = ("method", "model", "optimizer", "trainer", "protocol", "grouping_key", "noise", "dataset", "table")


def name_variants(collected: Collected) -> pl.DataFrame:
    """Runs with the columns `row` and `column`: grouping key and method, each with what tells its runs apart.

    `setting` is what `row` has after the grouping key. Runs that share (dataset, protocol, row, column) differ in
    fold and seed alone.
    """
    runs, configs = collected.runs, collected.configs
    row_paths: dict[tuple[str, ...], set[str]] = defaultdict(set)
    column_paths: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for *where, key, method, numbers in _configs_of(runs, "grouping_key", "method"):
        for path in telling_paths([configs[number] for number in numbers]):
            paths, owner = (column_paths, method) if path.startswith("method.") else (row_paths, key)
            paths[*where, owner].add(path)
    for *point, numbers in _configs_of(runs, "grouping_key"):  # methods of a row share their data
        data = [{path: value for path, value in configs[n].items() if _is_data(path)} for n in numbers]
        row_paths[tuple(point)].update(telling_paths(data))
    settings, columns = [], []
    for run in runs.iter_rows(named=True):
        dataset, protocol, config = run["dataset"], run["protocol"], configs[run["config"]]
        settings.append(_label("", row_paths[dataset, protocol, run["grouping_key"]], config))
        columns.append(_label(run["method"], column_paths[dataset, protocol, run["method"]], config))
    setting, column = pl.Series("setting", settings, pl.String), pl.Series("column", columns, pl.String)
    return runs.with_columns(setting, column, (pl.col("grouping_key") + setting).alias("row"))


def _configs_of(runs: pl.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    points = runs.group_by("dataset", "protocol", *names, maintain_order=True)
    return points.agg(pl.col("config").unique().sort()).iter_rows()


def _is_data(path: str) -> bool:
    return path == "table" or path.startswith(("grouping_key.", "noise."))


def telling_paths(configs: list[Config]) -> list[str]:
    """Few paths whose values tell different configurations apart.

    >>> telling_paths([{"optimizer.lr": "0.1", "dataset.lr": "0.1"}, {"optimizer.lr": "0.2", "dataset.lr": "0.2"}])
    ['optimizer.lr']
    """
    chosen: list[str] = []
    classes = 1
    for path in sorted({path for config in configs for path in config}, key=preference):
        told_apart = len({tuple(config.get(name) for name in (*chosen, path)) for config in configs})
        if told_apart > classes:
            chosen, classes = [*chosen, path], told_apart
    return chosen


def preference(path: str) -> tuple[int, bool, str]:
    """Sort key of paths: the order in which they are tried as labels."""
    group, _, rest = path.partition(".")
    return (_ORDER.index(group) if group in _ORDER else len(_ORDER), rest != "name", path)


def _label(name: str, paths: set[str], config: Config) -> str:
    said = []
    for path in sorted(paths, key=preference):
        shown = path.removeprefix("method.").removesuffix(".name")
        said.append(f"{shown}={config[path]}" if path in config else f"no {shown}")
    return f"{name} ({', '.join(said)})" if said else name
