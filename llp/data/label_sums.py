"""Which label sums bags can have: labels of 0 and 1 sum to 0 to k in a bag of k, and every sum fits into 32 bits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from llp.data.schema import LARGEST_NUMBER, LabelKind
from llp.errors import InputError

ROUNDING = 1e-6  # of a proportion: what a mean that was written with few digits, times the size, may be off
REACH = 50.0  # scales of Laplace noise; beyond it lies one sum in e^50


def outside(label_sum: NDArray[np.float64], size: NDArray[np.int64], reach: float = 0.0) -> NDArray[np.bool_]:
    """Which sums (K,) of labels 0 and 1 are below 0, or above the size of the bag, by more than `reach`: (K,)."""
    slack = reach + ROUNDING * size
    found: NDArray[np.bool_] = (label_sum < -slack) | (label_sum > size + slack)
    return found


def check_sums(
    label_sum: NDArray[np.float64],
    size: NDArray[np.int64],
    ids: Sequence[str],
    label_kind: LabelKind,
    *,
    stated: str,
    epsilon: float | None,
) -> int:
    """Refuse label sums (K,) that no bag has, given as `stated`; count those that noise has moved out of 0 to k."""
    if epsilon is not None and label_kind == "real":
        raise InputError(
            f"Invalid epsilon={epsilon}: it is of the noise in sums of labels 0 and 1, expected none where labels are "
            "real numbers"
        )
    wrong = ~(np.abs(label_sum) <= LARGEST_NUMBER)
    expected, hints = f"expected a number whose sum is at most {LARGEST_NUMBER:.0e}", ["correct it"]
    if label_kind == "binary" and not wrong.any():
        wrong = outside(label_sum, size, 0.0 if epsilon is None else REACH / epsilon)
        if stated == "label_sum":
            expected = "labels of 0 and 1 sum to 0 up to the number of rows"
        else:
            expected = "means of labels 0 and 1 lie in 0 to 1"
            means = label_sum[wrong] / size[wrong]
            if len(means) and means.min() > 0 and means.max() <= 100:
                hints.append("divide percentages by 100")
            if len(means) and (means % 1 == 0).all() and (means <= size[wrong]).all():
                hints.append("divide label sums by the sizes of their bags")
        if epsilon is not None:
            expected += f", and noise of scale 1/epsilon = {1 / epsilon:g} does not reach so far"
        elif stated == "proportions":
            hints += [
                "state their noise by LLPClassifier(epsilon=...)",
                "take LLPRegressor for other labels than 0 and 1",
            ]
        else:
            hints += ["state their noise by epsilon=...", "write label_kind=real for other labels than 0 and 1"]
    if wrong.any():
        at = int(np.argmax(wrong))
        value = label_sum[at] if stated == "label_sum" else label_sum[at] / size[at]
        further = f" (and {int(wrong.sum()) - 1} more)" if wrong.sum() > 1 else ""
        said = f"bag {ids[at]!r} of {size[at]} rows has {stated} {value:.9g}{further}"
        raise InputError(f"{said}: {expected}; {', or '.join(hints)}")
    return int(outside(label_sum, size).sum()) if label_kind == "binary" else 0
