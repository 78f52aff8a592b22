"""Numbers of bags in every form: by the bags' ids, or by position."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llp.errors import InputError

BagNumbers = NDArray[np.float64]


def per_bag(values: Any, name: str, ids: NDArray[Any], number: NDArray[np.int64], rows: Any = None) -> BagNumbers:
    """Numbers (K,) of bags with the sorted `ids` (K,); refuses what can be read in two ways that do not agree.

    A mapping is read by bag id, and so is a Series whose index holds the ids. Anything else is read by position: a
    number for each instance, or for each bag in the order of the ids. `number` (n,) is the bag of each instance, empty
    where it may be in several; `rows` is their index where they are a Series: numbers with the same one are a column
    beside it.
    """
    if hasattr(values, "items") and getattr(values, "ndim", 0) == 1:
        found = _of_series(values, name, ids, number, rows)
    elif isinstance(values, Mapping):
        found = _by_id(values, name, ids)
    else:
        found = _by_position(values, name, ids, number)
    if not np.isfinite(found).all():
        raise InputError(f"{name} of bag {ids[np.argmin(np.isfinite(found))]!s} is no finite number")
    return found


def _of_series(series: Any, name: str, ids: NDArray[Any], number: NDArray[np.int64], rows: Any) -> BagNumbers:
    """Numbers (K,) of a pandas Series: its index may hold the bags' ids, be that of the instances, or neither."""
    labels, wanted = texts(series.index), set(texts(ids))
    has_ids, of_instances = wanted <= set(labels), len(labels) == len(number)
    beside_bags = of_instances and rows is not None and series.index.equals(rows)
    each_its_own = len(ids) == len(number)
    if has_ids and of_instances and series.index.dtype.kind in "iuf":  # which may as well be the numbers of rows
        values = _numbers(series, name)
        if beside_bags and not each_its_own:
            with suppress(InputError):  # they differ within a bag
                return _of_instances(values, name, ids, number)
        if not _same(values, _by_id(series, name, ids)[number]):
            otherwise = f"dict(zip(bags, {name}))" if each_its_own else f"{name}.to_numpy()"
            raise InputError(
                f"{name} holds a number for each instance, under an index that holds the ids of the bags: read by "
                f"instance and by id they differ; write {name}.to_dict() if the index names bags, {otherwise} if not"
            )
    if beside_bags and not has_ids:
        return _of_instances(_numbers(series, name), name, ids, number)
    counted = labels == texts(range(len(labels))) and not wanted & set(labels)
    if not has_ids and (of_instances or counted):
        return _by_position(series, name, ids, number)
    return _by_id(series, name, ids)


def _by_id(values: Any, name: str, ids: NDArray[Any]) -> BagNumbers:
    """Numbers (K,) by the ids that they are named by; those of other bags are left out."""
    place = {text: i for known in (map(str, ids), texts(ids)) for i, text in enumerate(known)}
    named = [(place[text], value) for key, value in values.items() if (text := _text(key)) in place]
    where = [i for i, _ in named]
    if missing := sorted(set(range(len(ids))) - set(where)):
        raise InputError(f"{name} lacks {len(missing)} of the bags, such as {ids[missing[0]]!s}")
    numbers, found = _numbers([value for _, value in named], name), np.empty(len(ids))
    found[where] = numbers
    if not _same(found[where], numbers):
        twice = next(i for i, one in zip(where, numbers, strict=True) if not _same(found[i], one))
        raise InputError(f"{name} names the bag {ids[twice]!s} more than once, with different numbers")
    return found


def _by_position(values: Any, name: str, ids: NDArray[Any], number: NDArray[np.int64]) -> BagNumbers:
    """Numbers (K,) of an array of n or of K."""
    numbers = _numbers(values, name)
    if numbers.shape == ids.shape == number.shape and not _same(numbers, numbers[number]):
        raise InputError(
            f"{name} holds as many numbers as there are instances and bags, and the bags are not in sorted order: "
            f"write dict(zip(bags, {name})) if it is in the order of the instances, dict(zip(sorted(bags), {name})) "
            "if in that of the sorted bags"
        )
    if numbers.shape == number.shape:
        return _of_instances(numbers, name, ids, number)
    if numbers.shape != ids.shape:
        of_each = f" or of the {len(number)} instances" if len(number) else ""
        raise InputError(
            f"{name} has the shape {numbers.shape}, expected a number for each of the {len(ids)} bags{of_each}"
        )
    return numbers


def _of_instances(values: BagNumbers, name: str, ids: NDArray[Any], number: NDArray[np.int64]) -> BagNumbers:
    first = np.empty(len(ids))
    first[number[::-1]] = values[::-1]
    if not _same(first[number], values):
        differs = next(i for i, bag in enumerate(number) if not _same(first[bag], values[i]))
        raise InputError(f"{name} differs within the bag {ids[number[differs]]!s}")
    return first


def _same(a: Any, b: Any) -> bool:
    return np.array_equal(a, b, equal_nan=True)


def _numbers(values: Any, name: str) -> BagNumbers:
    try:
        return np.asarray(values, np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} holds something else than a number for each bag ({error})") from None


def texts(ids: Iterable[Any]) -> list[str]:
    """Ids as texts, by which those of any type are compared: 3, 3.0 and "3", a date and the Timestamp of that day."""
    return [_text(one) for one in ids]


def _text(one: Any) -> str:
    is_moment = isinstance(one, date | np.datetime64)
    if is_moment and getattr(one, "tzinfo", None) is None:
        return str(np.datetime64(one, "us").item()).removesuffix(" 00:00:00")
    is_whole = isinstance(one, float | np.floating | Decimal) and one % 1 == 0
    return f"{one:.0f}" if is_whole else str(one)
