"""Learning from label proportions on tabular data: data, bags, methods, grids, reports."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llp.api import *  # noqa: F403

__version__ = "0.2.0"

__all__ = [  # noqa: F405
    "BagKFold", "BagShuffleSplit", "LLPClassifier", "LLPRegressor", "bag_log_loss", "bag_log_loss_scorer", "bag_mse",
    "bag_mse_scorer", "unbiased_risk_scorer",
]  # fmt: skip
"""Names of `llp.api`; they are imported when they are asked for, which takes seconds."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        from llp import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
