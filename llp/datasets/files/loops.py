"""Compiled loops that code raw values: look hashes up in tables, put numbers into bins, standardise them."""

import numpy as np
from numpy.typing import NDArray

from llp.compiled import compiled

FREE = -1  # the code, or number, of a place in a table that no hash stands at
BLOCK = 1024

Hashes = NDArray[np.uint64]


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


@compiled
def number_distinct(
    hashes: Hashes, keys: Hashes, numbers: NDArray[np.int32], number: NDArray[np.int32], first: NDArray[np.int32]
) -> int:
    """Number the distinct of hashes (n,) by their first position; returns how many there are.

    `keys` and `numbers` (all `FREE`) are an empty table with room for n; out: the `number` of each hash (n,), and the
    `first` position of each number (n,).
    """
    last, one, distinct = np.uint64(len(keys) - 1), np.uint64(1), 0
    for i in range(len(hashes)):
        place = hashes[i] & last
        while numbers[place] != FREE and keys[place] != hashes[i]:
            place = (place + one) & last
        if numbers[place] == FREE:
            keys[place] = hashes[i]
            numbers[place] = distinct
            first[distinct] = i
            distinct += 1
        number[i] = numbers[place]
    return distinct


@compiled
def bin_numbers(x: NDArray[np.float64], edges: NDArray[np.float64], out: NDArray[np.int32]) -> None:
    """Bins of numbers (n,), into `out` (n,): 0 where one is NaN, else 1 + the number of edges below it."""
    above = np.empty(BLOCK)  # of the type of x: the loop over a block is vectorised
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK]
        above[:] = 1
        for edge in edges:
            for i in range(len(block)):
                above[i] += 1.0 if block[i] > edge else 0.0
        for i in range(len(block)):
            out[start + i] = 0 if np.isnan(block[i]) else int(above[i])


@compiled
def standardise(x: NDArray[np.float64], mean: float, std: float, out: NDArray[np.float32]) -> None:
    """Numbers (n,) less the mean, over the standard deviation, into `out` (n,); 0, the mean, where one is NaN."""
    for i in range(len(x)):
        out[i] = 0.0 if np.isnan(x[i]) else (x[i] - mean) / std
