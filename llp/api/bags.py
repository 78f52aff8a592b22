"""The arguments that describe bags, in every form, as arrays."""

from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from llp.api.frames import is_missing
from llp.api.per_bag import per_bag, texts
from llp.data.table import LabelKind
from llp.errors import InputError, invalid


class BagLabels(NamedTuple):
    """The bags of n instances and their labels."""

    number: NDArray[np.int32]  # (n,) bag of each instance, 0..K-1 by id as text; (m,) where bags overlap
    size: NDArray[np.int64]  # (K,)
    label_sum: NDArray[np.float64]  # (K,)
    instance: NDArray[np.int64] | None  # (m,) of each `number`, not falling; None where each is in one bag
    ids: list[str]  # (K,) the bags' names

    def of_entries(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the instances (n,) as those of the entries of `number`."""
        return values if self.instance is None else values[self.instance]

    @property
    def proportion(self) -> NDArray[np.float64]:
        """(K,) mean label of each bag."""
        return self.label_sum / self.size


def row_labels(y: Any, rows: int, label_kind: LabelKind) -> NDArray[np.float64]:
    """The labels of rows beside a report (L,), checked."""
    label = column_or_1d(y, warn=True)
    found = label.astype(np.float64) if label.dtype.kind in "biuf" else np.full(len(label), np.nan)
    fit = np.isin(found, (0, 1)) if label_kind == "binary" else np.isfinite(found)
    if len(label) != rows or not fit.all():
        wrong = f"{len(label)} labels" if len(label) != rows else label[~fit].tolist()[0]
        kind = "labels 0 and 1, which the reports sum" if label_kind == "binary" else "finite numbers"
        raise invalid("y_labelled", wrong, f"{rows} {kind}, one for each row of X_labelled")
    return found


def bag_labels(n: int, y: NDArray[Any] | None, bags: Any, proportions: Any, bag_sizes: Any) -> BagLabels:
    """Bring the arguments of `fit` and of the scorers together.

    Labels `y` (n,) of instances are aggregated. `bags` are (n,) ids, or n lists of ids where an instance may be in
    several; None: every instance is a bag of its own. `proportions` and `bag_sizes`, which are checked, are as in
    `per_bag`.
    """
    if (y is None) == (proportions is None):
        given = "both" if y is not None else "neither"
        raise InputError(f"expected labels of instances, y=, or of bags, proportions=; {given} was given")
    if bags is None and proportions is not None:
        raise InputError("proportions= needs bags=, the bag of each instance")
    named, instance = (np.arange(n), None) if bags is None else bag_ids(bags, n)
    ids, number = np.unique(named, return_inverse=True)
    size = np.bincount(number, minlength=len(ids)).astype(np.int64)
    of_instance = number if len(number) == n else number[:0]
    rows = getattr(bags, "index", None) if hasattr(bags, "iloc") else None
    if bag_sizes is not None:
        stated = per_bag(bag_sizes, "bag_sizes", ids, of_instance, rows)
        wrong = stated != size
        if wrong.any():
            first = int(np.argmax(wrong))
            raise InputError(
                f"bag {ids[first]!s} has bag_sizes {stated[first]:g} and {size[first]} instances in X; "
                f"{int(wrong.sum())} bag(s) differ"
            )
    if proportions is not None:
        label_sum = per_bag(proportions, "proportions", ids, of_instance, rows) * size
    else:
        label = np.asarray(y, np.float64) if instance is None else np.asarray(y, np.float64)[instance]
        label_sum = np.bincount(number, label, len(ids)).astype(np.float64)
    known = np.array(texts(ids))  # the commands know ids as texts
    order = np.argsort(known, kind="stable")
    place = np.empty(len(ids), np.int32)
    place[order] = np.arange(len(ids))
    return BagLabels(place[number], size[order], label_sum[order], instance, known[order].tolist())


def bag_ids(bags: Any, n: int) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """The ids of the bags and, where an instance may be in several, the instance of each id."""
    several = list(bags) if hasattr(bags, "__iter__") and not len(getattr(bags, "shape", ())) > 1 else []
    if several and isinstance(several[0], _SEVERAL):
        return _ids_of_several(several, n)
    try:
        ids = np.asarray(bags)
    except ValueError:  # lists among single bags
        raise InputError("bags holds lists and single bags, expected a list of bags for every instance") from None
    if ids.shape != (n,):
        raise InputError(f"bags has the shape {ids.shape}, expected ({n},): the bag of each instance of X")
    if np.any([is_missing(one) for one in ids.tolist()] if ids.dtype.kind == "O" else ids != ids):
        raise InputError("bags holds a missing value: name the bag of each instance")
    if ids.dtype.kind != "O":
        return ids, None
    values = [float(one) if isinstance(one, Decimal) else one for one in ids.tolist()]
    numbers = np.asarray(values)  # a nullable column comes as objects, and texts sort otherwise than numbers
    exact = numbers.dtype.kind in "iu" or (numbers.dtype.kind == "f" and bool((np.abs(numbers) < 2**53).all()))
    return numbers if exact else np.array(texts(ids)), None


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
