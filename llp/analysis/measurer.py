"""Measures of all bag datasets of a table, one stored result per grouping key, so that none is measured twice."""

import functools
import hashlib
import itertools
import json
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from llp.analysis.counting import GroupCounts, count_groups, read_column
from llp.analysis.hardness import Measures, hardness
from llp.analysis.separation import Distances, separation_measures
from llp.data.keys import FeatureKey, FixedKey, GroupingKey, RandomKey
from llp.data.table import InstanceTable
from llp.files import folder_name, read_small, write_atomically

STORE_VERSION = 2  # raised when measures are added or change: what was stored before is measured again


def feature_keys(columns: Sequence[str], size: int, low_thresh: int, high_thresh: int) -> list[FeatureKey]:
    """All feature keys of at most `size` of the columns, smaller ones first, columns in the given order."""
    subsets = itertools.chain.from_iterable(itertools.combinations(columns, k) for k in range(1, size + 1))
    return [FeatureKey(columns=names, low_thresh=low_thresh, high_thresh=high_thresh) for names in subsets]


def run_keys(columns: Sequence[str], bag_sizes: Sequence[int], seed: int) -> list[GroupingKey]:
    """Keys of random bags, and of fixed-size bags made with the columns (if any), of each size."""
    random = [RandomKey(bag_size=size, seed=seed) for size in bag_sizes]
    fixed = [FixedKey(columns=tuple(columns), bag_size=size, seed=seed) for size in bag_sizes]
    return [*random, *(fixed if columns else [])]


@dataclass(frozen=True)
class Measurer:
    """Measures the bag datasets of one table."""

    table: InstanceTable
    store: Path  # folder of the stored results
    threads: int  # keys that are counted at once, and columns whose moments are taken at once

    def count_all(self, keys: Sequence[FeatureKey]) -> Iterator[Measures]:
        """Counting measures of each feature key, in order; several keys at once."""
        columns = {name: read_column(self.table, name) for name in {name for key in keys for name in key.columns}}
        label = np.array(self.table.label)  # in memory

        def measures(key: FeatureKey) -> Measures:
            def measure() -> Measures:
                of_key = [columns[name] for name in key.columns]
                counts = count_groups(of_key, label, self.table.label_kind, smallest=key.low_thresh)
                low, high = key.low_thresh, key.high_thresh
                return hardness(counts, self.table.label_kind, low_thresh=low, high_thresh=high)

            return self._stored("counting", key, {}, measure)

        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(measures, keys)

    def bag_all(self, keys: Sequence[GroupingKey], distances: Distances) -> Iterator[Measures]:
        """Measures of each key that need its bags, in order; with counting ones for all but feature bags."""
        options = {"space": distances.space.name if distances.space else None, "metric": distances.metric}
        with ThreadPoolExecutor(self.threads) as pool:
            for key in keys:
                yield self._stored("bags", key, options, functools.partial(self._bag, key, distances, pool))

    def _bag(self, key: GroupingKey, distances: Distances, pool: Executor) -> Measures:
        bags = key.all_bags(self.table)
        separations = separation_measures(distances.separations(bags, pool))
        if isinstance(key, FeatureKey):  # counted without building the bags
            return separations
        counts = GroupCounts(self.table.n_rows, len(bags), bags.sizes, bags.label_sum)
        return {**hardness(counts, self.table.label_kind, low_thresh=None, high_thresh=None), **separations}

    def _stored(
        self, stage: str, key: GroupingKey, options: dict[str, Any], measure: Callable[[], Measures]
    ) -> Measures:
        """The key's stored result of a stage, measured and stored if there is none."""
        identity = {"version": STORE_VERSION, "table": self.table.fingerprint, **key.options, **options}
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
        path = self.store / stage / f"{folder_name(key.name)}_{digest}.json"
        stored = read_measures(path)
        if stored is None:
            stored = measure()
            write_measures(path, stored)
        return stored


log = logging.getLogger(__name__)


def write_measures(path: Path, measures: Measures) -> None:
    """Write measures with their checksum, as strict JSON: what is not finite becomes null."""
    plain = {name: value if math.isfinite(value) else None for name, value in measures.items()}
    content = json.dumps({"measures": plain, "sha256": _checksum(plain)}, allow_nan=False)
    write_atomically(path, lambda temporary: temporary.write_text(content))


def read_measures(path: Path) -> Measures | None:
    """Read measures back; None where there are none, or none that can be used, which is said."""
    try:
        content = json.loads(read_small(path))
        plain = content["measures"]
        if content["sha256"] != _checksum(plain):
            raise ValueError("the checksum is another")
        return {name: math.nan if value is None else value for name, value in plain.items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        log.warning("%s is damaged (%s): the key is measured again", path, error)
        return None


def _checksum(plain: dict[str, float | None]) -> str:
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
