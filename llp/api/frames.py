"""Tables of instances in any common form as polars frames."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils import check_array

from llp.errors import InputError, first_line


def as_frame(X: Any, *, least_rows: int = 2) -> pl.DataFrame:
    """Give an array, a data frame (pandas, polars, pyarrow) or a sparse matrix as a polars frame with text names.

    Raises ValueErrors, as scikit-learn wants: no table of numbers, texts and dates, or too few rows.
    """
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas, of which polars needs pyarrow to read some columns
        names = [str(name) for name in X.columns]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"X has the column name {twice[0]!r} twice: name each column otherwise")
        frame = pl.DataFrame({name: _series(X.iloc[:, i], name) for i, name in enumerate(names)})
    elif hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc"):  # polars, pyarrow
        frame = pl.DataFrame(X)
    else:
        array = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False, ensure_min_samples=least_rows)
        dense = array.toarray() if hasattr(array, "toarray") else array
        frame = pl.DataFrame({f"x{i}": _values(dense[:, i], f"x{i}") for i in range(dense.shape[1])})
    if frame.height < least_rows or not frame.width:
        raise InputError(
            f"X has {frame.height} row(s) and {frame.width} column(s): expected at least {least_rows} and 1"
        )
    return frame


def _series(column: Any, name: str) -> pl.Series:
    """A column of pandas; of its own types, texts and nullable numbers come as objects."""
    own_type = not isinstance(column.dtype, np.dtype)
    return _values(column.astype(object).to_numpy() if own_type else column.to_numpy(), name)


def _values(column: NDArray[Any], name: str) -> pl.Series:
    """Values (n,) of any type: objects may be numbers and texts, and None, NaN or NA where a value is missing."""
    if column.dtype.kind in "US":
        return pl.Series(column.tolist(), dtype=pl.String)
    if column.dtype.kind in "biufmM":
        return pl.Series(column)
    values = [None if is_missing(value) else value for value in column.tolist()]
    present = [value for value in values if value is not None]
    if all(isinstance(value, bool | np.bool_) for value in present):
        return pl.Series([value if value is None else bool(value) for value in values], dtype=pl.Boolean)
    if all(isinstance(value, Integral) and -(2**63) <= int(value) < 2**63 for value in present):
        return pl.Series([value if value is None else int(value) for value in values], dtype=pl.Int64)
    if all(isinstance(value, _NUMBER) for value in present):
        return pl.Series([value if value is None else _as_float(value) for value in values], dtype=pl.Float64)
    wrong = next((value for value in present if not isinstance(value, (str, date, np.datetime64, *_NUMBER))), None)
    if wrong is not None:
        raise TypeError(
            f"argument must be a string or a number, column {name!r} of X holds {type(wrong).__name__} objects: "
            "write them as texts or numbers"
        )
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


_NUMBER = (Real, Decimal, np.bool_)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas calls NaT or NA."""
    differs = value != value
    return (
        value is None or type(differs).__name__ == "NAType" or (isinstance(differs, bool | np.bool_) and bool(differs))
    )


def as_reports(reports: Any) -> dict[tuple[str, ...], pl.DataFrame]:
    """Give a mapping of queries to tables as one of tuples of columns to polars frames."""
    if not isinstance(reports, Mapping) or not reports:
        given = "it is empty" if isinstance(reports, Mapping) else f"it is a {type(reports).__name__}"
        example = "reports={('month', 'carrier'): frame, 'month': another}"
        raise InputError(f"Invalid reports: {given}; expected a mapping of queries to frames, such as {example}")
    found: dict[tuple[str, ...], pl.DataFrame] = {}
    for query, table in reports.items():
        columns = tuple(map(str, query)) if isinstance(query, tuple | list) else (str(query),)
        try:
            found[columns] = as_frame(table, least_rows=1)
        except (ValueError, TypeError) as error:
            expected = "expected a data frame with a row for each published cell; leave a query without any out"
            raise InputError(f"Invalid reports[{columns}]: {first_line(error)}; {expected}") from None
    return found
