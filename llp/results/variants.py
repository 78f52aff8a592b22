"""Settings that tell runs of a point apart: a method's own give it a column of its own, all others a row."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from llp.results.collect import Collected, Config

# order in which settings are tried as labels; those that add no distinction are dropped
_ORDER = ("method", "model", "optimizer", "trainer", "protocol", "grouping_key", "noise", "dataset", "table")
_MOST_NAMED = 4  # methods at one value
_MOST_SETTINGS = 8
_DATA = ("table", "grouping_key.", "noise.")  # settings of the data


def name_variants(collected: Collected) -> pl.DataFrame:
    """Runs with `row`, `column` (key and method with what tells runs apart) and `setting`, what `row` adds."""
    runs, configs = collected.runs, collected.configs
    row_paths: dict[tuple[str, ...], set[str]] = defaultdict(set)
    column_paths: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for *where, key, method, numbers in _configs_of(runs, "grouping_key", "method"):
        for path in telling_paths([configs[number] for number in numbers]):
            paths, owner = (column_paths, method) if path.startswith("method.") else (row_paths, key)
            paths[*where, owner].add(path)
    for *point, numbers in _configs_of(runs, "grouping_key"):  # methods of a row share their data
        data = [{path: value for path, value in configs[n].items() if path.startswith(_DATA)} for n in numbers]
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


def differing_settings(cells: pl.DataFrame, configs: Sequence[Config]) -> list[str]:
    """A sentence on the settings, but for methods' own, in which methods of a row differ; none without any."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in cells.partition_by("row", maintain_order=True):
        own = {cell["column"]: configs[cell["config"]] for cell in row.iter_rows(named=True)}
        for path in {path for config in own.values() for path in config if not path.startswith("method.")}:
            values = {column: config.get(path, "none") for column, config in own.items()}
            if len(set(values.values())) > 1:
                for column, value in values.items():
                    if column not in found[path][value]:
                        found[path][value].append(column)
    said = [_sentence(path, found[path]) for path in _telling(found)]
    if not said:
        return []
    more = f", and {len(said) - _MOST_SETTINGS} more" if len(said) > _MOST_SETTINGS else ""
    return [f"The methods differ in more than themselves: {'; '.join(said[:_MOST_SETTINGS])}{more}."]


def _telling(found: dict[str, dict[str, list[str]]]) -> Iterable[str]:
    """Paths without those that another one of their group, or one with the same values, stands for."""
    seen = set()
    for path in sorted(found, key=preference):
        parts = frozenset(frozenset(columns) for columns in found[path].values())
        values = frozenset((value, frozenset(columns)) for value, columns in found[path].items())
        if (path.partition(".")[0], parts) not in seen and values not in seen:
            yield path
        seen |= {(path.partition(".")[0], parts), values}


def _sentence(path: str, by_value: dict[str, list[str]]) -> str:
    most = Counter({value: len(columns) for value, columns in by_value.items()}).most_common(1)[0][0]
    said = [f"{value} ({_names(columns)})" for value, columns in sorted(by_value.items()) if value != most]
    rest = by_value[most]
    return f"{path.removesuffix('.name')} is {', '.join(said)} and {most} ({_names(rest)})"


def _names(columns: Sequence[str]) -> str:
    if len(columns) <= _MOST_NAMED:
        return ", ".join(columns)
    return f"{', '.join(columns[: _MOST_NAMED - 1])} and {len(columns) - _MOST_NAMED + 1} more"
