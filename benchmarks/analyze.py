"""How fast bag datasets are measured: `python -m benchmarks.analyze` (`make bench-analyze`).

Prints the counting measures of all 351 keys of a made table in the shape of Criteo CTR, and the separations of one
key in an embedding of 16 numbers per column and in the multi-hot space. Processor time stands beside wall-clock
time: it is what can be compared where other work runs, and half of it is the least that two threads take. The same
numbers go to `<outputs_dir>/bench/analyze.json`.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measuring import Measured, compose_config, peak_anonymous, show_measured
from llp.analysis.counting import read_column
from llp.analysis.measurer import Measurer, feature_keys
from llp.analysis.separation import Distances
from llp.analysis.space import Space, multi_hot_space
from llp.analysis.vector_blocks import Embedded
from llp.config.composition import register
from llp.data.keys import RandomKey
from llp.data.table import InstanceTable
from llp.datasets.preparation import prepare_table

ROWS = 5_000_000
SEPARATION_ROWS = 2_000_000
EMBEDDING_DIM = 16
THREADS = 2


def made_table(rows: int) -> tuple[InstanceTable, list[str]]:
    """The made table of this many rows, prepared if it is not there, and its key columns."""
    config = compose_config("dataset=synthetic", f"dataset.rows={rows}")
    table = InstanceTable.open(prepare_table(config.dataset, config.data_dir))
    return table, list(config.dataset.key_columns)


def measure_counting(rows: int, store: Path) -> list[Measured]:
    """Counting measures of all keys of one and two columns, with the memory of the whole process."""
    table, columns = made_table(rows)
    keys = feature_keys(columns, 2, 50, 2500)
    begin, busy = time.perf_counter(), time.process_time()
    with peak_anonymous() as peak:
        kept = sum(row["percent_instances_kept"] >= 30 for row in Measurer(table, store, THREADS).count_all(keys))
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    full = rows > ROWS
    return [
        Measured(f"counting {len(keys)} keys ({kept} kept), {rows:,} rows", seconds, "s", "< 480" if full else "< 60"),
        Measured("its processor time", busy, "s"),
        Measured("its anonymous memory", peak[0] / 2**30, "GiB", "< 6" if full else "< 2"),
    ]


def measure_separations(store: Path) -> list[Measured]:
    """Separations of one key whose bags hold all rows."""
    table, _ = made_table(SEPARATION_ROWS)
    rng = np.random.default_rng(0)
    columns = [read_column(table, name) for name in table.categorical_names]
    embedded = [Embedded(c.codes, rng.standard_normal((c.vocab_size, EMBEDDING_DIM), np.float32)) for c in columns]
    width = f"{len(columns)} × {EMBEDDING_DIM}"
    key = RandomKey(bag_size=256, seed=0)
    lines = []
    for name, space in ((width, Space("embedded", embedded)), ("multi-hot", multi_hot_space(table))):
        begin, busy = time.perf_counter(), time.process_time()
        with peak_anonymous() as peak:
            list(Measurer(table, store, THREADS).bag_all([key], Distances(space, "sqeuclidean", 0)))
        seconds, busy = time.perf_counter() - begin, time.process_time() - busy
        lines += [
            Measured(f"separations of {key.name}, {SEPARATION_ROWS:,} rows, {name}", seconds, "s", "< 4"),
            Measured("its processor time", busy, "s"),
            Measured("its anonymous memory", peak[0] / 2**30, "GiB"),
        ]
    return lines


def main() -> None:
    """Measure and show; rows for the counting may be given: `python -m benchmarks.analyze 45840617`."""
    register()
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as store:
        measured = [*measure_counting(rows, Path(store)), *measure_separations(Path(store))]
    show_measured(measured, compose_config().outputs_dir / "bench" / "analyze.json")


if __name__ == "__main__":
    main()
