"""Learning from label proportions on tabular data: data, bags, methods, grids, reports."""

from typing import Any

__version__ = "0.1.0"

API = (
    "BagKFold", "BagShuffleSplit", "LLPClassifier", "LLPRegressor", "bag_log_loss", "bag_log_loss_scorer", "bag_mse",
    "bag_mse_scorer", "unbiased_risk_scorer",
)  # fmt: skip
"""Names of `llp.api` that the package has too; they are imported when they are asked for, which takes seconds."""


def __getattr__(name: str) -> Any:
    if name in API:
        from llp import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *API])
