"""The code of each value of a column, worked out once."""

import threading
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.datasets.files.loops import FREE, Hashes, find_codes, number_distinct, put_codes

SMALLEST = 2**10
_adding = threading.Lock()


def _table(room: int) -> tuple[Hashes, NDArray[np.int32]]:
    """An empty table, of which `room` values take half at most."""
    size = max(SMALLEST, 1 << (2 * room - 1).bit_length())
    return np.zeros(size, np.uint64), np.full(size, FREE, np.int32)


class RememberedCodes:
    """Codes of values that come again and again, in blocks that threads may code side by side.

    `code` gives codes (m,) int32 of distinct values (m,); beyond `most` of them, values are coded again in each block.
    A value is known by its hash of 64 bits: that two of a million values share one has a probability below 1e-7.
    """

    def __init__(self, code: Callable[[pl.Series], NDArray[np.int32]], most: int) -> None:
        self._code = code
        self._most = most
        self._known = 0
        self._table = _table(SMALLEST // 2)

    def codes(self, values: pl.Series, hashes: Hashes, out: NDArray[np.int32]) -> None:
        """Write the codes of values (n,), all of one type, with their hashes (n,), into `out` (n,)."""
        if not find_codes(hashes, *self._table, out):
            return
        unknown = np.flatnonzero(out == FREE)
        of_unknown = hashes[unknown]
        number, first = np.empty(len(unknown), np.int32), np.empty(len(unknown), np.int32)
        first = first[: number_distinct(of_unknown, *_table(len(unknown)), number, first)]
        found = self._code(values.gather(unknown[first]))
        out[unknown] = found[number]
        self._remember(of_unknown[first], found)

    def _remember(self, hashes: Hashes, codes: NDArray[np.int32]) -> None:
        with _adding:
            room = self._most - self._known
            hashes, codes = hashes[:room], codes[:room]
            keys, known = self._table
            if 2 * (self._known + len(hashes)) > len(keys):
                larger = _table(2 * (self._known + len(hashes)))
                taken = known != FREE
                put_codes(keys[taken], known[taken], *larger)
                self._table = larger
            self._known += put_codes(hashes, codes, *self._table)
