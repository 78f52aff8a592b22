"""Splitters that keep bags whole, for cross-validation by bags."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.utils.validation import _num_samples

from llp.api.bags import bag_ids
from llp.errors import InputError


class _ByBags:
    """Takes `bags` where scikit-learn's splitters of groups take `groups`."""

    __metadata_request__split: ClassVar[dict[str, Any]] = {"bags": True, "groups": None}

    def split(self, X: Any, y: Any = None, groups: Any = None, *, bags: Any = None) -> Any:
        """Positions of train and test instances; no bag is in both.

        Parameters
        ----------
        X, y
            The instances, and labels that play no part.
        groups, bags : array-like
            (n,) the bag of each instance, by either name; or n lists of bags: those that share an instance stay
            together.

        Raises
        ------
        InputError
            Lengths differ, or instances that bags share hold all of them together.
        """
        given = groups if bags is None else bags
        return super().split(X, y, None if given is None else _held_together(given, _num_samples(X)))  # type: ignore[misc]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, *, bags: Any = None) -> int:
        """Number of splits."""
        return int(super().get_n_splits(X, y, groups))  # type: ignore[misc]


def _held_together(bags: Any, n: int) -> NDArray[Any]:
    """(n,) ids of what is not split: the bags, or where bags overlap, those that hang together by instances."""
    ids, instance = bag_ids(bags, n)
    if instance is None:
        return ids
    known, number = np.unique(ids, return_inverse=True)
    links = coo_array((np.ones(len(ids)), (instance, n + number)), shape=(n + len(known),) * 2)
    count, part = connected_components(links, directed=False)
    if count == 1:
        raise InputError(
            "all bags hang together by instances that they share, so no split keeps them whole; give groups=, one bag "
            "of each instance"
        )
    return np.asarray(part[:n])


class BagKFold(_ByBags, GroupKFold):  # type: ignore[misc]
    """K folds of whole bags: scikit-learn's GroupKFold, which gets the bags as `bags` through metadata routing."""


class BagShuffleSplit(_ByBags, GroupShuffleSplit):  # type: ignore[misc]
    """Random splits of whole bags: scikit-learn's GroupShuffleSplit, which gets the bags as `bags`."""
