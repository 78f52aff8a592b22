"""In what the methods of one table were trained differently: settings that are not the methods' own."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import polars as pl

from llp.results.collect import Config
from llp.results.variants import preference

_MOST_NAMED = 4  # methods at one value
_MOST_SETTINGS = 8


def differing_settings(cells: pl.DataFrame, configs: Sequence[Config]) -> list[str]:
    """A sentence on the settings in which methods differ that share a bag dataset's row; none where they do not.

    Settings of the methods' own (`method.reg`) are no difference in training. Of a group whose settings go together
    (a model's widths with its name) the first is named.

    Parameters
    ----------
    cells : pl.DataFrame
        Cells of one dataset, protocol and metric, see `llp.results.summary.summarize`.
    configs : sequence of dict
        See `llp.results.collect.Collected`.
    """
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in cells.partition_by("row", maintain_order=True):
        own = {cell["column"]: configs[cell["config"]] for cell in row.iter_rows(named=True)}
        for path in {path for config in own.values() for path in config if not path.startswith("method.")}:
            values = {column: config.get(path, "none") for column, config in own.items()}
            if len(set(values.values())) > 1:
                for column, value in values.items():
                    if column not in found[path][value]:
                        found[path][value].append(column)
    told = [_sentence(path, found[path]) for path in _telling(found)]
    if not told:
        return []
    more = f", and {len(told) - _MOST_SETTINGS} more" if len(told) > _MOST_SETTINGS else ""
    return [f"The methods differ in more than themselves: {'; '.join(told[:_MOST_SETTINGS])}{more}."]


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


def only_here(cells: pl.DataFrame, dataset: pl.DataFrame) -> list[str]:
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
