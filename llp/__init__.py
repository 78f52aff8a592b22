"""Learning from label proportions on tabular data: data, bags, methods, grids, reports."""

import os
from typing import Any

# torch and OpenMP read these once, when they are first imported: large tables lie on huge pages, on which the rows of a
# minibatch are a third cheaper to reach, and a thread that waits leaves its core to others
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

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
