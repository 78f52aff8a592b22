"""What the timings share: a line of a table, the table, memory, a config without a command line."""

import importlib.metadata
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from rich.console import Console
from rich.table import Table

from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.config.grouping_keys import CONF_DIR

REPEATS = 5
VERSIONS = ("torch", "lightning", "numpy", "polars", "numba")


@dataclass(frozen=True)
class Measured:
    """One line of the table: what, how much, its unit, and the bar it is held against (None: no bar)."""

    what: str
    value: float
    unit: str
    bar: str | None = None


def compose_config(*overrides: str) -> TrainConfig:
    """Compose `conf/train.yaml` without Hydra's command line."""
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        return check_config(compose("train", overrides=list(overrides)), TrainConfig)


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


def in_fresh_process(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call it in a process of its own, whose memory is its own alone."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(call, *arguments).result()


def machine() -> dict[str, Any]:
    """The device that computes, the cores beside it, and the versions of what does the work."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    versions = {name: importlib.metadata.version(name) for name in VERSIONS}
    return {"device": device, "cores": os.cpu_count(), "versions": versions}


def show_measured(measured: Sequence[Measured], path: Path) -> None:
    """Print the table and write it as JSON, with the machine that it was measured on."""
    here = machine()
    title = f"{here['device']}, {here['cores']} cores, torch {torch.__version__}"
    table = Table("what", "measured", "unit", "bar", title=title)
    for line in measured:
        table.add_row(line.what, f"{line.value:.3g}", line.unit, line.bar or "")
    Console().print(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**here, "measured": [asdict(line) for line in measured]}, indent=1, allow_nan=False))
