"""How fast raw text becomes a table: `python -m llp.bench.prepare` (`make bench-prepare`).

Made files in the format of Criteo CTR, with the real file's long tail of values that are seen once or twice, are
prepared in a process of their own: rows per second, peak anonymous memory, and what twice the rows with the same
distinct values add to it. The file is in the page cache. Numbers go to `<outputs_dir>/bench/prepare.json` too.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from llp.bench.speed import Measured, anonymous_bytes, compose_config, peak_anonymous, show
from llp.config import register
from llp.data import criteo_ctr, criteo_sscl, raw_synthetic

ROWS = 5_000_000
SSCL_ROWS = 1_000_000


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


def measure(scratch: Path) -> list[Measured]:
    """Make the raw files and prepare them, each in a fresh process."""
    fresh = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1)
    ctr, sscl = scratch / "train.txt", scratch / "CriteoSearchData"
    before = time.perf_counter()
    raw_synthetic.write_ctr(
        ctr,
        rows=ROWS,
        seed=0,
        vocab_fraction=1.0,
        tail_share=0.25,
        tail_values=10_000_000,
        separator="\t",
        header=False,
    )
    making = time.perf_counter() - before
    raw_synthetic.write_sscl(sscl, rows=SSCL_ROWS, seed=0, vocab_fraction=1.0, sale_share=0.1)
    ctr_options, sscl_options = {"rare_at_most": 10}, {"rare_at_most": 5, "transform": "none"}
    with fresh:
        baseline = fresh.submit(anonymous_bytes).result()
        once, twice = (
            fresh.submit(prepare_once, criteo_ctr.prepare, scratch / name, files, ctr_options).result()
            for name, files in (("once", [str(ctr)]), ("twice", [str(ctr), str(ctr)]))
        )
        other = fresh.submit(prepare_once, criteo_sscl.prepare, scratch / "sscl", [str(sscl)], sscl_options).result()
    gib = 2**30
    return [
        Measured(f"making {ROWS:,} raw CTR rows", ROWS / making, "rows/s"),
        Measured(f"preparing them ({ctr.stat().st_size / 1e9:.2f} GB)", ROWS / once.seconds, "rows/s", "≥ 200,000"),
        Measured("its processor time", once.processor / ROWS * 1e6, "s per million rows"),
        Measured("its peak anonymous memory", once.peak / gib, "GiB", "< 4"),
        Measured("of which after the imports", baseline / gib, "GiB"),
        Measured(f"preparing {2 * ROWS:,} rows, same values", 2 * ROWS / twice.seconds, "rows/s"),
        Measured("its peak memory relative to the former", twice.peak / once.peak, "", "≤ 1.2"),
        Measured(f"preparing {SSCL_ROWS:,} raw SSCL rows", SSCL_ROWS / other.seconds, "rows/s"),
    ]


def main() -> None:
    """Measure and show."""
    register()
    config = compose_config()
    data_dir = Path(config.data_dir)
    data_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data_dir, prefix=".bench-") as scratch:
        show(measure(Path(scratch)), Path(config.outputs_dir) / "bench" / "prepare.json")


if __name__ == "__main__":
    main()
