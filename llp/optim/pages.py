"""Memory pages of large tables on the CPU: zeros that take none until they are written, and huge ones (Linux)."""

import ctypes
import mmap

import torch
from torch import Tensor

COLLAPSE = 25  # MADV_COLLAPSE, of Linux 6.1: the pages that are there become huge at once
UPDATES_TO_HUGE = 32
"""Updates a row, of all rows on average, that earn back what huge pages cost.

To get them takes as long as hundreds of steps (a virtual machine's memory may come from its host anew); they save a
tenth of a step."""


def lazy_zeros(table: Tensor) -> Tensor:
    """Zeros of a table's shape, type and device; on the CPU the system hands a page out when it is first written."""
    if table.device.type != "cpu" or not table.numel():
        return torch.zeros_like(table, requires_grad=False)
    memory = mmap.mmap(-1, table.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(memory, dtype=table.dtype).reshape(table.shape)


def make_huge(table: Tensor) -> None:
    """Put a table, where it lies, on huge pages; where the system has none it stays as it is."""
    size = mmap.PAGESIZE
    begin = -(-table.data_ptr() // size) * size
    length = (table.data_ptr() + table.nbytes - begin) // size * size
    if length > 0 and hasattr(mmap, "MADV_HUGEPAGE"):
        ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(length), COLLAPSE)
