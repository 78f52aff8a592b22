"""What more rows take: `python -m benchmarks.scale` (`make bench-scale`), or with rows in millions `... scale 1 3 10`.

A made file in the format of one day of Criteo 1TB is prepared, cut into bags, trained on for a part of an epoch and
analyzed, each in a process of its own: wall-clock and processor seconds, peak anonymous memory. On the largest table,
minibatches are read while its files are taken out of the page cache whenever a quarter of the table has been read: so
the cache never holds more of it. Numbers go to `<outputs_dir>/bench/scale.json`, what is made to
`<outputs_dir>/bench/scale/`; that folder is removed in the end.
"""

import gzip
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import raw_synthetic
from benchmarks.larger_than_memory import measure_reading
from benchmarks.measuring import Measured, compose_config, in_fresh_process, peak_anonymous, show_measured
from benchmarks.prepare import CTR_OPTIONS, Cost, prepare_once
from llp.analysis.measurer import Measurer, feature_keys
from llp.config.composition import register
from llp.data.table import InstanceTable
from llp.datasets import criteo_ctr
from llp.machine import cores
from llp.runs.build import Parts

MILLION = 1_000_000
SIZES = (1, 3, 10)
KEYS = ("random_256", "C1_C23")
TAIL_VALUES = 10_000_000


def scale_config(folder: Path, *overrides: str) -> Any:
    """A run on the prepared table."""
    return compose_config("dataset=criteo_ctr", f"data_dir={folder}", "hardware.accelerator=cpu", *overrides)


def cost_of(call: Callable[[], Any]) -> Cost:
    """What a call takes."""
    wall, processor = time.perf_counter(), time.process_time()
    with peak_anonymous() as peak:
        call()
    return Cost(time.perf_counter() - wall, time.process_time() - processor, peak[0])


def make_day(path: Path, rows: int) -> None:
    """Write a plain file as a day of Criteo 1TB unpacks to."""
    raw_synthetic.write_ctr(
        path,
        rows=rows,
        seed=0,
        vocab_fraction=1.0,
        tail_share=0.25,
        tail_values=TAIL_VALUES,
    )


def prepare_on(n_cores: int, folder: Path, raw: str) -> Cost:
    """Prepare a table on some of the cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_cores])
    return prepare_once(criteo_ctr.prepare, folder, [raw], CTR_OPTIONS)


def bags_of(folder: Path, key: str) -> Cost:
    """Build the bags of a fold."""
    register()
    config = scale_config(folder, f"grouping_key={key}")
    table = InstanceTable.open(folder / "criteo_ctr")
    return cost_of(lambda: config.grouping_key.fold_bags(table, 0))


def count(folder: Path) -> Cost:
    """Count every key of one and two columns."""
    register()
    table, keys = InstanceTable.open(folder / "criteo_ctr"), scale_config(folder).dataset.key_columns
    measurer = Measurer(table, folder / "analysis", cores())
    return cost_of(lambda: list(measurer.count_all(feature_keys(list(keys), 2, 50, 2500))))


def model_bytes(folder: Path) -> int:
    """Weights of the default model on the table, each with two moments."""
    register()
    method = Parts(scale_config(folder), InstanceTable.open(folder / "criteo_ctr")).method()
    return 3 * sum(weight.nbytes for weight in method.parameters())


def lines_of(what: str, cost: Cost, rows: int) -> list[Measured]:
    """The lines of a step: its rates and its memory."""
    return [
        Measured(what, cost.seconds, "s"),
        Measured("its rate", rows / cost.seconds, "rows/s"),
        Measured("its processor time", cost.processor / rows * MILLION, "s per million rows"),
        Measured("its peak anonymous memory", cost.peak / 2**30, "GiB"),
    ]


def measure_size(folder: Path, rows: int) -> list[Measured]:
    """Every step on a number of rows; the table stays in the folder."""
    name = f"{rows / MILLION:g} million rows"
    raw = folder / "day_0"
    make_day(raw, rows)
    lines = lines_of(f"prepare, {name}", in_fresh_process(prepare_on, cores(), folder / "criteo_ctr", str(raw)), rows)
    for key in KEYS:
        lines += lines_of(f"bags of {key}, {name}", in_fresh_process(bags_of, folder, key), rows)
    lines += lines_of(f"analysis of 351 keys, {name}", in_fresh_process(count, folder), rows)
    table = InstanceTable.open(folder / "criteo_ctr")
    on_disk = sum(path.stat().st_size for path in table.folder.rglob("*") if path.is_file())
    return [
        *lines,
        Measured("table on disk", on_disk / rows, "bytes a row"),
        Measured("codes of all columns", sum(table.vocab_sizes) / MILLION, "millions"),
        Measured("model with its moments", in_fresh_process(model_bytes, folder) / 2**30, "GiB"),
    ]


def measure_packed(folder: Path, rows: int) -> list[Measured]:
    """Prepare a day as it comes, packed, on one core and on two."""
    plain, packed = folder / "day_0", folder / "day_0.gz"
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as file:
        shutil.copyfileobj(source, file)
    lines = []
    for n_cores in (1, 2):
        cost = in_fresh_process(prepare_on, n_cores, folder / f"cores_{n_cores}", str(packed))
        lines += lines_of(f"prepare day_0.gz on {n_cores} of the cores, {rows / MILLION:g} million rows", cost, rows)
        shutil.rmtree(folder / f"cores_{n_cores}")
    return lines


def main() -> None:
    """Measure and show."""
    register()
    torch.set_num_threads(1)
    sizes = [float(size) for size in sys.argv[1:]] or list(SIZES)
    out = compose_config().outputs_dir / "bench"
    folder, measured = out / "scale", []
    for number, size in enumerate(sizes):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        rows = int(size * MILLION)
        measured += measure_size(folder, rows)
        if number == 0:
            measured += measure_packed(folder, rows)
        measured += measure_reading(scale_config(folder, "grouping_key=random_256"), larger=number == len(sizes) - 1)
        show_measured(measured, out / "scale.json")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
