"""A copy of a table's rows in the order of a fold's bags, in `.NAME.rows/`: one larger than memory, read in runs."""

import hashlib
import logging
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from llp import signals
from llp.data.bags import Bags, Rows
from llp.data.keys import FoldBags
from llp.data.read_ahead import expect_runs
from llp.data.table import InstanceTable
from llp.data.table_place import scratch
from llp.data.table_writer import create_array
from llp.errors import InputError
from llp.files import folder_name, locked, naming
from llp.machine import free_memory

log = logging.getLogger(__name__)

LEAST_BUFFER, MOST_BUFFER = 2**24, 2**29  # bytes; the free memory decides between them
ORDER = "order.npy"


class NoRoomError(InputError):
    """The disk has no room for a copy."""


@dataclass(frozen=True)
class BagOrder:
    """A fold's bags on a copy of its table."""

    table: InstanceTable  # the copy: train bags first, then the rows (or bags) that measure the run
    fold_bags: FoldBags  # the same bags and rows, by their numbers in the copy
    order: Rows  # memory map: the row of the table that each row of the copy is

    @classmethod
    def of(cls, table: InstanceTable, fold_bags: FoldBags, name: str) -> Self:
        """Open or write the copy for a fold; `name` is for its folder. NoRoomError where the disk is too full."""
        parts = [fold_bags.train.rows, fold_bags.test_rows]
        if fold_bags.test_bags is not None:
            parts.append(fold_bags.test_bags.rows)
        order = np.concatenate(parts)
        copies, digest = copies_of(table), hashlib.blake2b(order.data, digest_size=8).hexdigest()
        place = copies / f"{table.fingerprint}_{folder_name(name)}_{digest}"
        opened = _opened(table, place, len(order))
        if opened is None:
            copies.mkdir(exist_ok=True)
            with locked(copies / ".lock", f"{place}: is being written"):
                opened = _opened(table, place, len(order))  # another one may have written it meanwhile
                if opened is None:
                    _write(table, order, place)
                    opened = _opened(table, place, len(order))
        assert opened is not None, "it was written just now"
        train, test, *behind = np.split(np.arange(len(order)), np.cumsum([len(part) for part in parts])[:-1])
        test_bags = None if fold_bags.test_bags is None else fold_bags.test_bags.at(behind[0])
        return cls(opened[0], FoldBags(fold_bags.train.at(train), test, test_bags, fold_bags.n_left_out), opened[1])


def copies_of(table: InstanceTable) -> Path:
    """The folder of a table's copies."""
    return table.folder.with_name(f".{table.folder.name}.rows")


def in_table(bags: Bags, order: Rows) -> Bags:
    """Bags of a copy by their rows in the table."""
    return bags.at(np.asarray(order[bags.rows]))


def _arrays(table: InstanceTable) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "categorical.npy": table.categorical,
        "numeric.npy": table.numeric,
        "label.npy": table.label,
    }
    return arrays if table.weight is None else arrays | {"weight.npy": table.weight}


def _opened(table: InstanceTable, place: Path, n_rows: int) -> tuple[InstanceTable, Rows] | None:
    """A whole copy and its order; None where there is none."""
    copy = InstanceTable(place, replace(table.schema, rows=n_rows))
    try:
        os.utime(place)  # used now
        order: Rows = np.load(place / ORDER, mmap_mode="r")
        whole = all(len(array) == n_rows for array in (order, *_arrays(copy).values()))
    except (OSError, ValueError, EOFError):  # none, or a damaged one
        return None
    if not whole:
        return None
    expect_runs(copy)
    return copy, order


def _write(table: InstanceTable, order: Rows, place: Path) -> None:
    """Write a copy beside its place and rename it when it is whole; call it while holding the lock."""
    copies = place.parent
    shutil.rmtree(place, ignore_errors=True)
    for left in copies.iterdir():  # what killed processes were writing, and copies of a table that was here before
        if left.is_dir() and not left.name.startswith(table.fingerprint):
            shutil.rmtree(left, ignore_errors=True)
    row_bytes = sum(array.nbytes for array in _arrays(table).values()) / table.n_rows + order.itemsize
    need = int(row_bytes * len(order))
    _make_room(copies, need)
    log.info("%s: writing %s rows in bag order to %s, %.1f GB", table.folder.name, f"{len(order):,}", place, need / 1e9)
    with naming(place), scratch(place) as temporary:
        buffer = min(MOST_BUFFER, max(LEAST_BUFFER, free_memory() // 8))
        write_in_order({temporary / name: array for name, array in _arrays(table).items()}, order, buffer)
        np.save(temporary / ORDER, order)
        for path in temporary.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        temporary.rename(place)


def _make_room(copies: Path, need: int) -> None:
    """Remove copies that were not used for the longest time until another one takes no more than its share."""
    there = sorted((path for path in copies.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    sizes = [sum(file.stat().st_size for file in path.iterdir()) for path in there]
    free = shutil.disk_usage(copies).free
    room = (free + sum(sizes)) // 2
    while there and sum(sizes) + need > room:
        log.info("%s is removed: copies take at most half of the room", there[0])
        shutil.rmtree(there.pop(0))
        sizes.pop(0)
    if need > room:
        raise NoRoomError(
            f"{copies}: rows in bag order need {need / 1e9:.1f} GB, expected at most half of the free "
            f"{2 * room / 1e9:.1f} GB; make room there, or name another place with data_dir=FOLDER, or write "
            "hardware.row_order=table"
        )


Copies = list[tuple[NDArray[Any], NDArray[Any]]]  # what is copied, and its memory-mapped copy


def write_in_order(arrays: dict[Path, NDArray[Any]], order: Rows, buffer_bytes: int) -> None:
    """Write the rows `order` (n,), some perhaps several times, of memory-mapped arrays (N, ...) as .npy files.

    A distribution sort in two passes of buckets, parts of the copy of `buffer_bytes` in memory, and as much of the
    table beside it. Polars' streaming sort (2.1.0) held 2.3 GB for a table of 0.9 GB, and sinks no mapped array.
    """
    made = [(one, create_array(path, one.dtype, (len(order), *one.shape[1:]))) for path, one in arrays.items()]
    copies = [(source, copy) for source, copy in made if copy.size]
    if not copies:
        return
    step = max(1, buffer_bytes // sum(copy[0].nbytes for _, copy in copies))
    buckets = [slice(start, min(start + step, len(order))) for start in range(0, len(order), step)]
    _distribute(copies, order, buckets, step)
    for bucket in buckets:
        signals.exit_if_received()
        place = np.argsort(order[bucket], kind="stable")
        for _, copy in copies:
            copy[bucket][place] = np.array(copy[bucket])


def _distribute(copies: Copies, order: Rows, buckets: list[slice], step: int) -> None:
    """Append every row to its bucket, in the table's order."""
    rising = order.copy()
    for bucket in buckets:
        rising[bucket].sort()
    filled = [bucket.start for bucket in buckets]
    for begin in range(0, len(copies[0][0]), step):
        signals.exit_if_received()
        parts = [np.array(source[begin : begin + step]) for source, _ in copies]
        for number, bucket in enumerate(buckets):
            start = filled[number]
            filled[number] = stop = start + int(np.searchsorted(rising[start : bucket.stop], begin + step))
            for (_, copy), part in zip(copies, parts, strict=True):
                copy[start:stop] = part[rising[start:stop] - begin]
