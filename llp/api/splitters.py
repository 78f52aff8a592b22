"""Splitters that keep bags whole, for cross-validation by bags."""

from typing import Any, ClassVar

from sklearn.model_selection import GroupKFold, GroupShuffleSplit


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
            (n,) the bag of each instance, by either name.
        """
        return super().split(X, y, groups if bags is None else bags)  # type: ignore[misc]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, *, bags: Any = None) -> int:
        """Number of splits."""
        return int(super().get_n_splits(X, y, groups))  # type: ignore[misc]


class BagKFold(_ByBags, GroupKFold):  # type: ignore[misc]
    """K folds of whole bags: scikit-learn's GroupKFold, which gets the bags as `bags` through metadata routing."""


class BagShuffleSplit(_ByBags, GroupShuffleSplit):  # type: ignore[misc]
    """Random splits of whole bags: scikit-learn's GroupShuffleSplit, which gets the bags as `bags`."""
