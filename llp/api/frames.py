"""Tables of instances in any common form as polars frames, and the arguments that describe bags as arrays."""

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

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
    values = [None if value is None or value != value else value for value in column.tolist()]
    present = [value for value in values if value is not None]
    if all(isinstance(value, int | float) for value in present):
        return pl.Series(values, dtype=pl.Float64)
    wrong = next((value for value in present if not isinstance(value, str | int | float | date)), None)
    if wrong is not None:
        raise TypeError(f"argument must be a string or a number, X holds {type(wrong).__name__} objects")
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


class BagLabels(NamedTuple):
    """The bags of n instances and their labels.

    Attributes
    ----------
    number : ndarray
        (n,) int32, the bag of each instance: 0..K-1, in the order of the ids as texts; (m,) where bags overlap.
    size : ndarray
        (K,) int64.
    label_sum : ndarray
        (K,) float64.
    instance : ndarray or None
        (m,) int64, the instance of each entry of `number`, not falling; None where each instance is in one bag.
    ids : list of str
        (K,) the bags' names.
    """

    number: NDArray[np.int32]
    size: NDArray[np.int64]
    label_sum: NDArray[np.float64]
    instance: NDArray[np.int64] | None
    ids: list[str]

    def of_entries(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the instances (n,) as those of the entries of `number`."""
        return values if self.instance is None else values[self.instance]

    @property
    def proportion(self) -> NDArray[np.float64]:
        """(K,) mean label of each bag."""
        return self.label_sum / self.size


def bag_labels(n: int, y: NDArray[Any] | None, bags: Any, proportions: Any, bag_sizes: Any) -> BagLabels:
    """Bring the arguments of `fit` and of the scorers together.

    Parameters
    ----------
    n : int
        Instances.
    y : ndarray or None
        (n,) labels of instances, which are aggregated.
    bags : array-like or None
        (n,) ids of bags, or n lists of ids where an instance may be in several; None: every instance is a bag of its
        own.
    proportions : mapping, Series or array-like, or None
        Mean label of each bag: by id, in the order of the sorted ids, or (n,) that of each instance's bag.
    bag_sizes : as `proportions`, or None
        Stated sizes, which are checked.

    Raises
    ------
    InputError
        Labels are given twice or not at all, lengths differ, or a size is not the number of instances.
    """
    if (y is None) == (proportions is None):
        given = "both" if y is not None else "neither"
        raise InputError(f"expected labels of instances, y=, or of bags, proportions=; {given} was given")
    if bags is None and proportions is not None:
        raise InputError("proportions= needs bags=, the bag of each instance")
    named, instance = (np.arange(n), None) if bags is None else bag_ids(bags, n)
    ids, number = np.unique(named, return_inverse=True)
    size = np.bincount(number, minlength=len(ids)).astype(np.int64)
    if bag_sizes is not None:
        stated = per_bag(bag_sizes, "bag_sizes", ids, number)
        wrong = stated != size
        if wrong.any():
            first = int(np.argmax(wrong))
            raise InputError(
                f"bag {ids[first]!s} has bag_sizes {stated[first]:g} and {size[first]} instances in X; "
                f"{int(wrong.sum())} bag(s) differ"
            )
    if proportions is not None:
        label_sum = per_bag(proportions, "proportions", ids, number) * size
    else:
        label = np.asarray(y, np.float64) if instance is None else np.asarray(y, np.float64)[instance]
        label_sum = np.bincount(number, label, len(ids)).astype(np.float64)
    order = np.argsort(ids.astype(str), kind="stable")  # the commands know ids as texts
    place = np.empty(len(ids), np.int32)
    place[order] = np.arange(len(ids))
    return BagLabels(place[number], size[order], label_sum[order], instance, ids[order].astype(str).tolist())


def bag_ids(bags: Any, n: int) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """The ids of the bags and, where an instance may be in several, the instance of each id."""
    several = list(bags) if hasattr(bags, "__iter__") and not getattr(bags, "ndim", 1) > 1 else []
    if several and isinstance(several[0], _SEVERAL):
        return _ids_of_several(several, n)
    try:
        ids = np.asarray(bags)
    except ValueError:  # lists among single bags
        raise InputError("bags holds lists and single bags, expected a list of bags for every instance") from None
    if ids.shape != (n,):
        raise InputError(f"bags has the shape {ids.shape}, expected ({n},): the bag of each instance of X")
    missing = [one is None or one != one for one in ids.tolist()] if ids.dtype.kind == "O" else ids != ids
    if np.any(missing):
        raise InputError("bags holds a missing value: name the bag of each instance")
    return ids.astype(str) if ids.dtype.kind == "O" else ids, None


_SEVERAL = (list, tuple, set, frozenset, np.ndarray, pl.Series)


def _ids_of_several(bags: list[Any], n: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not all(isinstance(one, _SEVERAL) for one in bags):
        raise InputError("bags holds lists and single bags, expected a list of bags for every instance")
    distinct = [list(dict.fromkeys(one)) for one in bags]
    if len(distinct) != n:
        raise InputError(f"bags has {len(distinct)} lists, expected one for each of the {n} instances of X")
    if not all(distinct):
        raise InputError(
            f"bags names no bag of instance {distinct.index([])}: expected one at least, such as ['a', 'b']"
        )
    ids, _ = bag_ids([one for of_instance in distinct for one in of_instance], sum(map(len, distinct)))
    return ids, np.repeat(np.arange(n), [len(one) for one in distinct])


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(values, np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} holds something else than a number for each bag ({error})") from None


def per_bag(values: Any, name: str, ids: NDArray[Any], number: NDArray[np.int64]) -> NDArray[np.float64]:
    """Numbers (K,) of bags, from a mapping or a Series by id, or an array of K or of n."""
    if hasattr(values, "items") and not isinstance(values, Mapping):
        values = dict(values.items())  # a pandas Series
    if isinstance(values, Mapping):
        by_id = {str(key): value for key, value in values.items()}
        missing = [str(one) for one in ids if str(one) not in by_id]
        if missing:
            raise InputError(f"{name} lacks {len(missing)} bag(s) of bags, such as {missing[0]!r}")
        found = _numbers([by_id[str(one)] for one in ids], name)
    else:
        found = _numbers(values, name)
        if found.shape == number.shape and len(ids) != len(number):
            first = np.full(len(ids), np.nan)
            first[number[::-1]] = found[::-1]
            if (differs := first[number] != found).any():
                raise InputError(f"{name} differs within the bag {ids[number[np.argmax(differs)]]!s}")
            found = first
        if found.shape != ids.shape:
            raise InputError(f"{name} has the shape {found.shape}, expected a number for each of the {len(ids)} bags")
    if not np.isfinite(found).all():
        raise InputError(f"{name} of bag {ids[np.argmin(np.isfinite(found))]!s} is no finite number")
    return found
