"""How fast the hot path is: `python -m llp.bench.speed` (`make bench`).

Prints, in one run: building the bags of one pair and fold, the data module alone with the memory that both take,
the training step with dense Adam and with the row-wise one, evaluation, and a whole small run. The table is
`dataset=synthetic` with 2 million rows and the full published vocabulary. The same numbers go to
`<outputs_dir>/bench/speed.json`.
"""

import csv
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from llp.build import build_data, open_table
from llp.config import CONF_DIR, grouping_key, register
from llp.data.bags import build_fold
from llp.data.preparation import prepare_table
from llp.data.table import InstanceTable
from llp.metrics.ranking import exact_auc
from llp.run import Run, run_one

ROWS = 2_000_000
REPEATS = 5
SHORT_ROWS = 60_000  # 24 steps an epoch: dense Adam needs most of a second for one


@dataclass(frozen=True)
class Measured:
    """One line of the table: what, how much, its unit, and the bar it is held against (None: no bar)."""

    what: str
    value: float
    unit: str
    bar: str | None = None


def compose_config(*overrides: str) -> DictConfig:
    """Compose `conf/train.yaml` without Hydra's command line."""
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def best_seconds(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Shortest wall-clock time of a few calls: the one least disturbed by other work on the machine."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def anonymous_bytes() -> int:
    """Anonymous resident memory of this process: what it holds beyond mapped files (Linux)."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) * 1024


@contextmanager
def peak_anonymous() -> Iterator[list[int]]:
    """Sample the anonymous memory every 5 ms; the yielded list holds its peak at the end."""
    peak, done = [anonymous_bytes()], threading.Event()

    def sample() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], anonymous_bytes())

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def measure_data(config: DictConfig, table: InstanceTable) -> list[Measured]:
    """Bag building and the data module alone, with the memory that they take above what was there before."""
    before = anonymous_bytes()
    with peak_anonymous() as peak:
        bags_seconds = best_seconds(lambda: build_fold(table, grouping_key(config), 0))
        data = build_data(config, table, instance_labels=False)
        table.categorical.sum()  # a first reading warms the page cache

        def epoch() -> None:
            for _ in data.train_dataloader():
                pass

        rate = len(data.train_bags.rows) / best_seconds(epoch)
    name = f"{grouping_key(config).name} fold 0, {table.n_rows:,} rows"
    return [
        Measured(f"bags of {name}", bags_seconds, "s", "< 0.6"),
        Measured("data module alone", rate / 1e6, "million instances/s", "≥ 4"),
        Measured("anonymous memory of both", (peak[0] - before) / 2**30, "GiB", "< 1"),
    ]


def measure_auc() -> list[Measured]:
    """Exact AUC of 9 million scores."""
    rng = np.random.default_rng(0)
    scores, labels = rng.random(9_000_000, np.float32), (rng.random(9_000_000) < 0.25).astype(np.float32)
    with peak_anonymous() as peak:
        before = anonymous_bytes()
        seconds = best_seconds(lambda: exact_auc(scores, labels), 3)
    return [
        Measured("exact AUC of 9 million scores", seconds, "s"),
        Measured("its memory above the scores", (peak[0] - before) / 2**30, "GiB", "< 1"),
    ]


OPTIMIZERS = {
    "exact_adam": ["optimizer=exact_adam"],
    "dense Adam, fused": ["optimizer=adam"],
    "dense Adam, foreach": ["optimizer=adam", "optimizer.fused=false", "+optimizer.foreach=true"],
}


def measure_optimizers(outputs_dir: Path) -> list[Measured]:
    """Training steps a second through the real run, full vocabulary, 8 bags of 256: each optimizer's last epoch."""
    rates = {}
    for name, overrides in OPTIMIZERS.items():
        config = compose_config(
            "dataset=synthetic",
            f"dataset.rows={SHORT_ROWS}",
            "grouping_key=random_256",
            "trainer.max_epochs=3",
            "trainer.threads=2",
            f"outputs_dir={outputs_dir}",
            "force=true",
            *overrides,
        )
        run = Run.of(config, open_table(config))
        run_one(config)
        last = list(csv.DictReader((run.folder / "metrics.csv").open()))[-1]
        rates[name] = float(last["instances_per_second"]) / (8 * 256)
    ours = rates["exact_adam"]
    lines = [Measured(f"dllp_bce, full vocabulary, {name}", rate, "steps/s") for name, rate in rates.items()]
    return [
        *lines,
        Measured("exact_adam / fused", ours / rates["dense Adam, fused"], "times", "≥ 8"),
        Measured("exact_adam / foreach", ours / rates["dense Adam, foreach"], "times", "≥ 20"),
    ]


def show(measured: list[Measured], path: Path) -> None:
    """Print the table and write it as JSON."""
    table = Table("what", "measured", "unit", "bar", title=f"{os.cpu_count()} cores, torch {torch.__version__}")
    for line in measured:
        table.add_row(line.what, f"{line.value:.3g}", line.unit, line.bar or "")
    Console().print(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([line.__dict__ for line in measured], indent=1))


def measure_run(outputs_dir: Path) -> list[Measured]:
    """A whole small run: flights, dllp_bce, one fold, to its early stop."""
    config = compose_config("dataset=flights", "method=dllp_bce", f"outputs_dir={outputs_dir}", "force=true")
    record = run_one(config)
    stage = record["stages"][-1]
    return [
        Measured(f"flights month_dest dllp_bce, {stage['epochs']} epochs", record["seconds"], "s"),
        Measured("its training", stage["instances_per_second"] / 1e6, "million instances/s"),
    ]


def main() -> None:
    """Measure and show."""
    register()
    torch.set_num_threads(2)
    config = compose_config("dataset=synthetic", f"dataset.rows={ROWS}")
    table = InstanceTable.open(prepare_table(config.dataset, Path(config.data_dir)))
    out = Path(config.outputs_dir) / "bench"
    measured = [*measure_data(config, table), *measure_auc(), *measure_optimizers(out), *measure_run(out)]
    show(measured, out / "speed.json")


if __name__ == "__main__":
    main()
