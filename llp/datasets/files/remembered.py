"""The code of each value of a column, worked out once."""

import threading
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.compiled import compiled

SMALLEST = 2**10
FREE = -1  # the code, or number, of a place in a table that no hash stands at
Hashes = NDArray[np.uint64]
_adding = threading.Lock()


@compiled
def find_codes(hashes: Hashes, keys: Hashes, codes: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Codes of hashes (n,) by a table, into `out` (n,), `FREE` where it lacks one; returns how many it lacks.

    The table has a power of two of places (C,), some of them free: a hash stands at the first one that was free, from
    its lowest bits on.
    """
    last, one, lacking = np.uint64(len(keys) - 1), np.uint64(1), 0
    for i in range(len(hashes)):
        place = hashes[i] & last
        while codes[place] != FREE and keys[place] != hashes[i]:
            place = (place + one) & last
        out[i] = codes[place]
        lacking += codes[place] == FREE
    return lacking


@compiled
def put_codes(hashes: Hashes, new_codes: NDArray[np.int32], keys: Hashes, codes: NDArray[np.int32]) -> int:
    """Put hashes (m,) and their codes into a table with room for them; returns how many were not in it."""
    last, one, added = np.uint64(len(keys) - 1), np.uint64(1), 0
    for i in range(len(hashes)):
        place = hashes[i] & last
        while codes[place] != FREE and keys[place] != hashes[i]:
            place = (place + one) & last
        if codes[place] == FREE:
            keys[place] = hashes[i]  # before its code: who looks it up meanwhile finds it whole or not at all
            codes[place] = new_codes[i]
            added += 1
    return added


def _table(room: int) -> tuple[Hashes, NDArray[np.int32]]:
    """An empty table, of which `room` values take half at most."""
    size = max(SMALLEST, 1 << (2 * room - 1).bit_length())
    return np.zeros(size, np.uint64), np.full(size, FREE, np.int32)


class RememberedCodes:
    """Codes of values that come again, by their 64-bit hashes, at most `most` of them; threads may share it."""

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
        _, first, number = np.unique(of_unknown, return_index=True, return_inverse=True)
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
