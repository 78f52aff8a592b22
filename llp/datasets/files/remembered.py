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
def place_of(one: np.uint64, keys: Hashes, codes: NDArray[np.int32]) -> np.uint64:
    """Where a hash stands in a table: from its lowest bits on, the first place that was free when it was put there.

    A table has a power of two of places (C,), some of them free: at the first of these a hash that it lacks may be put.
    """
    last = np.uint64(len(keys) - 1)
    place = one & last
    while codes[place] != FREE and keys[place] != one:
        place = (place + np.uint64(1)) & last
    return place


@compiled
def find_codes(hashes: Hashes, keys: Hashes, codes: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """Codes of hashes (n,) by a table, into `out` (n,), `FREE` where it lacks one."""
    for i in range(len(hashes)):
        place = place_of(hashes[i], keys, codes)
        out[i] = codes[place] if keys[place] == hashes[i] else FREE  # another thread may have put another hash there


@compiled
def put_codes(hashes: Hashes, new_codes: NDArray[np.int32], keys: Hashes, codes: NDArray[np.int32]) -> None:
    """Put hashes (m,) and their codes into a table with room for them."""
    for i in range(len(hashes)):
        place = place_of(hashes[i], keys, codes)
        keys[place] = hashes[i]  # before its code: who looks it up meanwhile finds it whole or not at all
        codes[place] = new_codes[i]


def _table(room: int) -> tuple[Hashes, NDArray[np.int32]]:
    """An empty table, of which `room` values take half at most."""
    size = max(SMALLEST, 1 << (2 * room - 1).bit_length())
    return np.zeros(size, np.uint64), np.full(size, FREE, np.int32)


class RememberedCodes:
    """Codes of values that come again, by their 64-bit hashes, at most `most` of them; threads may share it."""

    def __init__(self, code: Callable[[pl.Series], NDArray[np.int32]], most: int) -> None:
        self._code = code
        self._most = most
        self._table = _table(SMALLEST // 2)

    def codes(self, values: pl.Series, hashes: Hashes, out: NDArray[np.int32]) -> None:
        """Write the codes of values (n,), all of one type, with their hashes (n,), into `out` (n,)."""
        find_codes(hashes, *self._table, out)
        unknown = np.flatnonzero(out == FREE)
        if not len(unknown):
            return
        of_unknown, codes = hashes[unknown], np.empty(len(unknown), np.int32)
        first = pl.Series(of_unknown).arg_unique().to_numpy()
        distinct, table = of_unknown[first], _table(len(first))
        found = self._code(values.gather(unknown[first]))
        put_codes(distinct, found, *table)
        find_codes(of_unknown, *table, codes)
        out[unknown] = codes
        self._remember(distinct, found)

    def _remember(self, hashes: Hashes, codes: NDArray[np.int32]) -> None:
        with _adding:
            keys, known = self._table
            taken = known != FREE
            n_taken = int(np.count_nonzero(taken))
            hashes, codes = hashes[: self._most - n_taken], codes[: self._most - n_taken]
            if 2 * (n_taken + len(hashes)) > len(keys):
                larger = _table(2 * (n_taken + len(hashes)))
                put_codes(keys[taken], known[taken], *larger)
                self._table = larger
            put_codes(hashes, codes, *self._table)
