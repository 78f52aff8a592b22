"""The kinds of bags. To add one: its class in a file here, its name in `KINDS`, and `conf/grouping_key/KIND.yaml`."""

from typing import Any

from llp.data.keys.base import FoldBags, GroupingKey
from llp.data.keys.feature import FeatureKey
from llp.data.keys.fixed import FixedKey
from llp.data.keys.given import GivenKey
from llp.data.keys.prior import PriorKey
from llp.data.keys.random import RandomKey
from llp.data.keys.report import ReportKey

KINDS: dict[str, type[GroupingKey]] = {
    kind.model_fields["kind"].default: kind
    for kind in (
        FeatureKey,
        FixedKey,
        RandomKey,
        PriorKey,
        GivenKey,
        ReportKey,
    )
}
"""By name, in the order of rows, columns and sentences of a report."""

__all__ = [
    "KINDS",
    "FeatureKey",
    "FixedKey",
    "FoldBags",
    "GivenKey",
    "GroupingKey",
    "PriorKey",
    "RandomKey",
    "ReportKey",
]


def read_name(name: str) -> tuple[str, dict[str, Any]]:
    """The kind of a key's name and the options that it says.

    >>> read_name("fixed_C3_C11_128")
    ('fixed', {'columns': ['C3', 'C11'], 'bag_size': 128})
    """
    for kind, key in reversed(KINDS.items()):  # the first kind's names are whatever is no other one's
        if (options := key.read_name(name)) is not None:
            return kind, options
    raise AssertionError(name)
