"""Area under the ROC curve: exact, and as the benchmark's published tables have it."""

import warnings

import numpy as np
from numpy.typing import NDArray


def exact_auc(scores: NDArray[np.floating], labels: NDArray[np.floating]) -> float:
    """Probability that a positive (n,) scores above a negative, a tie counts half; NaN, and a warning, of one class."""
    positive = np.sort(scores[labels == 1])
    negative = np.sort(scores[labels == 0])
    if not len(positive) or not len(negative):
        only = "positive" if len(positive) else "negative"
        warnings.warn(f"AUC is undefined: all {len(labels)} labels are {only}", stacklevel=2)
        return float("nan")
    if np.isnan(positive[-1]) or np.isnan(negative[-1]):  # NaN sorts last
        return float("nan")
    below = np.searchsorted(negative, positive, side="left").sum(dtype=np.int64)
    not_above = np.searchsorted(negative, positive, side="right").sum(dtype=np.int64)
    return (float(below) + float(not_above)) / (2.0 * len(positive) * len(negative))


def auc_200_thresholds(probabilities: NDArray[np.floating], labels: NDArray[np.floating]) -> float:
    """AUC by the trapezoid over Keras' 200 thresholds, as published; far too low where scores are concentrated."""
    bucket = np.searchsorted(thresholds_200(), probabilities.astype(np.float32), side="left")  # thresholds below it
    counts = [np.bincount(bucket[labels == y], minlength=201) for y in (0, 1)]
    if not counts[0].sum() or not counts[1].sum():
        return float("nan")
    # rate of scores strictly above threshold j: those with more than j thresholds below them
    false_positive, true_positive = (1.0 - np.cumsum(count)[:200] / count.sum() for count in counts)
    return float(-np.trapezoid(true_positive, false_positive))


def thresholds_200() -> NDArray[np.float32]:
    """Keras' 200 thresholds, rising: -1e-7, 1/199 .. 198/199, 1 + 1e-7."""
    return np.concatenate([[-1e-7], np.arange(1, 199) / 199, [1 + 1e-7]]).astype(np.float32)
