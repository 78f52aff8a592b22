"""Reading minibatches of a table of which the page cache holds a quarter at most."""

import mmap
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from benchmarks.measuring import Measured
from llp.config.commands import TrainConfig
from llp.data.bag_order import copies_of
from llp.data.datamodule import LLPDataModule
from llp.data.table import InstanceTable
from llp.runs.build import Parts

MOST_READ, MOST_TRAINED = 1200, 200  # minibatches
LONGEST = 20.0  # seconds: of the table in its own order a minibatch may take one


class Cache:
    """The page cache of a table's files: they are taken out once `most` bytes were read from the disk, or never."""

    def __init__(self, table: InstanceTable, most: int | None) -> None:
        self._arrays: list[Any] = [table.categorical, table.label]
        self._most = most
        self._read = 0
        if most is None:
            for array in self._arrays:
                array.sum()
        else:
            self.empty()

    def empty(self) -> None:
        """Take the files out of the cache."""
        for array in self._arrays:
            array.base.madvise(mmap.MADV_DONTNEED)  # what is mapped stays cached
            with Path(array.filename).open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self._read = read_from_disk()

    def bound(self) -> None:
        """Empty it if as much was read as it may hold."""
        if self._most is not None and read_from_disk() - self._read > self._most:
            self.empty()


def read_from_disk() -> int:
    """Bytes that this process has had read from the disk (Linux)."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["read_bytes"])


def rate(config: TrainConfig, data: LLPDataModule, *, trained: bool, cold: bool, most: int) -> float:
    """Instances a second of the first minibatches of an epoch, read alone or trained on."""
    torch.manual_seed(0)
    method = Parts(config, data.table).method()
    data.keep_on(torch.device("cpu"))
    method.take_train_split(data.train_split)
    optimizer: Any = method.configure_optimizers()
    cache = Cache(data.source, data.table.categorical.nbytes // 4 if cold else None)
    begin, instances, taken = time.perf_counter(), 0, 0
    chunks: Iterable[Any] = data.train_dataloader()
    for chunk in chunks:
        for batch in chunk:
            if trained:
                method.take_step(optimizer, batch)
            instances, taken = instances + len(batch.segment), taken + 1
        cache.bound()
        if taken >= most or time.perf_counter() - begin > LONGEST:
            break
    return instances / (time.perf_counter() - begin)


def measure_reading(config: TrainConfig, *, larger: bool) -> list[Measured]:
    """Rates of reading and of training on a prepared table; where it counts as larger than memory, by either order."""
    table = InstanceTable.open(config.data_dir / config.dataset.table)
    name, lines, found = f"{table.n_rows / 1e6:g} million rows", [], {}
    for order in ("table", "bag") if larger else ("table",):
        hardware = config.hardware.model_copy(update={"row_order": order})
        begin, busy = time.perf_counter(), time.process_time()
        data = Parts(config.model_copy(update={"hardware": hardware}), table).data(instance_labels=False)
        if order == "bag":
            bytes_there = sum(path.stat().st_size for path in copies_of(table).rglob("*") if path.is_file())
            lines += [
                Measured(f"copy in bag order, with its bags, {name}", time.perf_counter() - begin, "s"),
                Measured("its processor time", (time.process_time() - busy) / table.n_rows * 1e6, "s per million rows"),
                Measured("its bytes", bytes_there / table.n_rows, "a row"),
            ]
        for cold in (False, True) if larger else (False,):
            for trained, most in ((False, MOST_READ), (True, MOST_TRAINED)):
                found[order, cold, trained] = rate(config, data, trained=trained, cold=cold, most=most)
                what, cache = "training" if trained else "reading", "small" if cold else "warm"
                what = f"{what}, {order} order, {cache} cache, {name}"
                lines.append(Measured(what, found[order, cold, trained], "instances/s"))
    if larger:
        for trained, what in ((False, "reading"), (True, "training")):
            for order in ("table", "bag"):
                share = found[order, True, trained] / found["table", False, trained]
                bar = "≥ 0.5" if trained and order == "bag" else None
                lines.append(Measured(f"{what}, {order} order with a small cache / warm table", share, "times", bar))
    return lines
