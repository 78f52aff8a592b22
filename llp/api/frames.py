"""Tables of instances in any common form as polars frames."""

from datetime import date
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils import check_array

from llp.errors import InputError


def as_frame(X: Any, *, least_rows: int = 2) -> pl.DataFrame:
    """Give an array, a data frame (pandas, polars, pyarrow) or a sparse matrix as a polars frame with text names.

    Raises
    ------
    ValueError
        It is no table of numbers and texts, or holds an infinite number.
    """
    if hasattr(X, "iloc"):  # pandas; polars would need pyarrow to read it
        names = [str(name) for name in X.columns]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"X has the column name {twice[0]!r} twice: name each column otherwise")
        frame = pl.DataFrame({name: _series(X.iloc[:, i]) for i, name in enumerate(names)})
    elif hasattr(X, "__arrow_c_stream__"):  # polars, pyarrow
        frame = pl.DataFrame(X)
    else:
        array = check_array(
            X, accept_sparse="csr", dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least_rows
        )
        dense = array.toarray() if hasattr(array, "toarray") else array
        frame = pl.DataFrame({f"x{i}": _values(dense[:, i]) for i in range(dense.shape[1])})
    numbers = [name for name, kind in frame.schema.items() if kind.is_float()]
    infinite = frame.select(pl.col(numbers).is_infinite().any()).row(0) if numbers else ()
    if any(infinite):
        raise ValueError(f"column {numbers[infinite.index(True)]!r} contains infinity")
    return frame


def _series(column: Any) -> pl.Series:
    """A column of pandas; of its own types, texts and nullable numbers come as objects."""
    own_type = not isinstance(column.dtype, np.dtype)
    return _values(column.astype(object).to_numpy() if own_type else column.to_numpy())


def _values(column: NDArray[Any]) -> pl.Series:
    """Values (n,) of any type: objects may be numbers and texts, and None or NaN where a value is missing."""
    if column.dtype.kind in "US":
        return pl.Series(column.tolist(), dtype=pl.String)
    if column.dtype.kind != "O":
        return pl.Series(column)
    values = [None if is_missing(value) else value for value in column.tolist()]
    present = [value for value in values if value is not None]
    if all(isinstance(value, int | float) for value in present):
        return pl.Series(values, dtype=pl.Float64)
    wrong = next((value for value in present if not isinstance(value, str | int | float | date)), None)
    if wrong is not None:
        raise TypeError(f"argument must be a string or a number, X holds {type(wrong).__name__} objects")
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas calls NaT or NA."""
    differs = value != value
    return (
        value is None or type(differs).__name__ == "NAType" or (isinstance(differs, bool | np.bool_) and bool(differs))
    )
