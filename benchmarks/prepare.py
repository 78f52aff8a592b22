"""How fast raw text becomes a table: `python -m benchmarks.prepare` (`make bench-prepare`).

Made files in the format of Criteo CTR, with the real file's long tail of values that are seen once or twice, are
prepared in a process of their own: rows per second, peak anonymous memory, and what twice the rows with the same
distinct values add to it. The file is in the page cache. Numbers go to `<outputs_dir>/bench/prepare.json` too.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import raw_synthetic
from benchmarks.measuring import (
    Measured,
    anonymous_bytes,
    compose_config,
    in_fresh_process,
    peak_anonymous,
    show_measured,
)
from llp.config.composition import register
from llp.datasets import criteo_ctr, criteo_sscl

ROWS = 5_000_000
SSCL_ROWS = 1_000_000
CTR_OPTIONS = {"rare_at_most": 10}


class Cost(NamedTuple):
    """What one preparation took: wall-clock and processor seconds, peak anonymous bytes."""

    seconds: float
    processor: float
    peak: int


def prepare_once(prepare: Callable[..., None], folder: Path, raw: list[str], options: dict[str, Any]) -> Cost:
    """Prepare a table and say what it took."""
    wall, processor = time.perf_counter(), time.process_time()
    with peak_anonymous() as peak:
        prepare(folder=folder, made_by={}, raw=raw, errors="stop", **options)
    return Cost(time.perf_counter() - wall, time.process_time() - processor, peak[0])


def measure_ctr(scratch: Path, rows: int) -> list[Measured]:
    """Make a raw Criteo CTR file in `scratch` and prepare it."""
    ctr = scratch / "train.txt"
    before = time.perf_counter()
    raw_synthetic.write_ctr(
        ctr,
        rows=rows,
        seed=0,
        vocab_fraction=1.0,
        tail_share=0.25,
        tail_values=10_000_000,
    )
    making = time.perf_counter() - before
    once = in_fresh_process(prepare_once, criteo_ctr.prepare, scratch / "once", [str(ctr)], CTR_OPTIONS)
    gib = 2**30
    return [
        Measured(f"making {rows:,} raw CTR rows", rows / making, "rows/s"),
        Measured(f"preparing them ({ctr.stat().st_size / 1e9:.2f} GB)", rows / once.seconds, "rows/s", "≥ 200,000"),
        Measured("its processor time", once.processor / rows * 1e6, "s per million rows"),
        Measured("its peak anonymous memory", once.peak / gib, "GiB", "< 4"),
        Measured("of which after the imports", in_fresh_process(anonymous_bytes) / gib, "GiB"),
    ]


def measure_growth(scratch: Path, rows: int, peak: float) -> list[Measured]:
    """Prepare twice the rows with the same values; `peak` GiB is what the rows took once."""
    train, again = scratch / "train.txt", scratch / "again.txt"
    with train.open("rb") as source, again.open("wb") as copy:  # with its first line last: a copy is refused
        first = source.readline()
        shutil.copyfileobj(source, copy)
        copy.write(first)
    files = [str(train), str(again)]
    twice = in_fresh_process(prepare_once, criteo_ctr.prepare, scratch / "twice", files, CTR_OPTIONS)
    return [
        Measured(f"preparing {2 * rows:,} rows, same values", 2 * rows / twice.seconds, "rows/s"),
        Measured("its peak memory relative to the former", twice.peak / 2**30 / peak, "", "≤ 1.2"),
    ]


def measure_sscl(scratch: Path, rows: int) -> list[Measured]:
    """Make a raw Criteo SSCL file and prepare it."""
    sscl = scratch / "CriteoSearchData"
    raw_synthetic.write_sscl(sscl, rows=rows, seed=0, vocab_fraction=1.0, sale_share=0.1)
    options = {"rare_at_most": 5, "transform": "none"}
    cost = in_fresh_process(prepare_once, criteo_sscl.prepare, scratch / "sscl", [str(sscl)], options)
    return [Measured(f"preparing {rows:,} raw SSCL rows", rows / cost.seconds, "rows/s")]


def main() -> None:
    """Measure and show; with a number of rows, that many of CTR alone: `python -m benchmarks.prepare 45840617`."""
    register()
    config = compose_config()
    data_dir = config.data_dir
    data_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data_dir, prefix=".bench-") as name:
        scratch = Path(name)
        if len(sys.argv) > 1:
            measured = measure_ctr(scratch, int(sys.argv[1]))
        else:
            measured = measure_ctr(scratch, ROWS)
            measured += measure_growth(scratch, ROWS, measured[3].value)
            measured += measure_sscl(scratch, SSCL_ROWS)
    show_measured(measured, Path(config.outputs_dir) / "bench" / "prepare.json")


if __name__ == "__main__":
    main()
