"""Memory of runs side by side: a run is admitted when its model has room beside those under way."""

import logging
import threading
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from omegaconf import DictConfig

from llp import signals
from llp.data.table import InstanceTable
from llp.machine import free_memory

log = logging.getLogger(__name__)

COPIES = 4
"""What a run holds of its model: the weights, two moments of each, and the best epoch's weights."""


@dataclass(frozen=True)
class Need:
    """What a run takes of the memory that models live in.

    Attributes
    ----------
    model : int
        Bytes of its own.
    table : int
        Bytes of the table, which runs share; 0 on a CPU, where the page cache holds it.
    name : str
        The table's folder.
    """

    model: int
    table: int = 0
    name: str = ""


class Room:
    """What of a memory runs have been given; they wait until there is enough for them.

    Parameters
    ----------
    free : int
        Bytes that are there for all.
    """

    def __init__(self, free: int) -> None:
        self.free = free
        self._changed = threading.Condition()
        self._models = 0
        self._under_way = 0
        self._tables: Counter[str] = Counter()
        self._table_bytes: dict[str, int] = {}

    def take(self, need: Need) -> None:
        """Give a run its room; wait until it is there, or no other run is under way, or a signal has come."""
        with self._changed:
            if not self._fits(need):
                model, free = f"{need.model / 1e9:.1f} GB", f"{self.free / 1e9:.1f} GB"
                log.warning("a run takes %s beside those under way, of %s: it waits until one ends", model, free)
            while not self._fits(need) and not signals.received():
                self._changed.wait(timeout=1.0)
            self._under_way += 1
            self._models += need.model
            self._tables[need.name] += 1
            self._table_bytes[need.name] = need.table

    def give_back(self, need: Need) -> None:
        """A run has ended."""
        with self._changed:
            self._under_way -= 1
            self._models -= need.model
            self._tables[need.name] -= 1
            self._changed.notify_all()

    def _fits(self, need: Need) -> bool:
        held = {name: self._table_bytes[name] for name, runs in self._tables.items() if runs} | {need.name: need.table}
        return not self._under_way or self._models + need.model + sum(held.values()) <= self.free


def said(runs_at_once: int, need: Need, free: int) -> str:
    """The memory of a grid's runs in a line.

    >>> said(4, Need(2 * 10**9, 7 * 10**9, "t"), 80 * 10**9)
    'runs_at_once=4: 2.0 GB a run for its model and moments, 7.0 GB for the table, of 80.0 GB free'
    """
    table = f", {need.table / 1e9:.1f} GB for the table" if need.table else ""
    model = f"{need.model / 1e9:.1f} GB a run for its model and moments"
    return f"runs_at_once={runs_at_once}: {model}{table}, of {free / 1e9:.1f} GB free"


def free_for(config: DictConfig) -> int:
    """Bytes that are free where the models of a config's runs live: a GPU's memory, or the machine's."""
    import torch

    on_gpu = config.hardware.accelerator != "cpu" and torch.cuda.is_available()
    return torch.cuda.mem_get_info(0)[0] if on_gpu else free_memory()


def need_of(config: DictConfig) -> Need:
    """What a run takes, by the sizes of its model and its table.

    A table that cannot be opened counts for nothing: the run tells why.
    """
    import torch

    from llp.runs.build import build_method, open_table

    try:
        table = open_table(config)
        model = COPIES * model_bytes(config, table, build_method)
    except Exception as error:  # whatever is wrong is told by the run itself
        log.debug("the memory of a run is not known: %s", error)
        return Need(0)
    on_gpu = config.hardware.accelerator != "cpu" and torch.cuda.is_available()
    kept = on_gpu and config.hardware.features_on != "host"
    arrays = (table.categorical, table.numeric, table.label)
    return Need(model, sum(array.nbytes for array in arrays) if kept else 0, str(table.folder))


def model_bytes(config: DictConfig, table: InstanceTable, build: Any) -> int:
    """Bytes of a model's weights, without making it.

    Two small ones are made, for one and for two codes per column: a model's size rises by the same for each code.
    """
    one, two = (sum(w.nbytes for w in build(config, _small(table, codes)).parameters()) for codes in (1, 2))
    columns = len(table.vocab_sizes)
    return int(one + (two - one) * (sum(table.vocab_sizes) - columns) / max(1, columns))


def _small(table: InstanceTable, codes: int) -> InstanceTable:
    columns = tuple(replace(column, vocab_size=column.vocab_size and codes) for column in table.schema.columns)
    return InstanceTable(table.folder, replace(table.schema, columns=columns))
