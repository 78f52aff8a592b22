"""Checks of the rows that are written to a table: of the shape and type that is meant, and finite as float32."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llp.data.table import Column, LabelKind
from llp.errors import InputError


def checked_codes(codes: NDArray[Any], start: int, m: int, columns: Sequence[Column]) -> NDArray[Any]:
    """Codes (m, Fc) of the rows from `start` on: integers of the columns' vocabularies."""
    _check_shape("codes", codes, (m, len(columns)))
    if not np.issubdtype(codes.dtype, np.integer):
        raise InputError(f"codes are integers, these are {codes.dtype}")
    sizes = np.array([column.vocab_size or 0 for column in columns])
    if m and ((codes.min(axis=0) < 0) | (codes.max(axis=0) >= sizes)).any():
        row, i = np.argwhere((codes < 0) | (codes >= sizes))[0]
        raise InputError(
            f"row {start + row} (from 0) has the code {codes[row, i]} in column {columns[i].name}, whose vocab_size is "
            f"{columns[i].vocab_size}: codes are 0..vocab_size-1"
        )
    return codes


def checked_numbers(numbers: NDArray[Any], start: int, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Numeric values (m, Fn) of the rows from `start` on, finite as float32."""
    small = _as_float32("numbers", numbers, shape)
    if not np.isfinite(small).all():
        row, column = np.argwhere(~np.isfinite(small))[0]
        raise InputError(
            f"row {start + row} (from 0) has {numbers[row, column]} in numeric column {column}: "
            "write a finite number where a value is missing"
        )
    return small


def checked_labels(labels: NDArray[Any], start: int, kind: LabelKind, *, some: bool = False) -> NDArray[np.float32]:
    """Labels (m,) from row `start` on: 0 or 1, or finite as float32; all NaN, or with `some` any."""
    small = _as_float32("labels", labels, (len(labels),))
    wanted, fits = ("0 or 1", np.isin(labels, (0, 1))) if kind == "binary" else ("a finite number", np.isfinite(small))
    if some:
        fits |= np.isnan(labels)
    if not (fits.all() or np.isnan(small).all()):
        row = int(np.argmin(fits))
        raise InputError(f"row {start + row} (from 0) has the label {labels[row]}: a label is {wanted}.")
    return small


def checked_weights(weights: NDArray[Any], start: int, m: int) -> NDArray[np.float32]:
    """Weights (m,) of the rows from `start` on, finite as float32 and not below 0."""
    small = _as_float32("weights", weights, (m,))
    fits = np.isfinite(small) & (small >= 0)
    if not fits.all():
        row = int(np.argmin(fits))
        raise InputError(f"row {start + row} (from 0) has the weight {weights[row]}: expected a number from 0")
    return small


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{name} have the shape {array.shape}, expected {shape}")


def _as_float32(name: str, numbers: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float32]:
    _check_shape(name, numbers, shape)
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32, copy=False)
