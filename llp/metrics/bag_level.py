"""Measures of a model by bags alone: where no instance has a label."""

import numpy as np
import torch
from numpy.typing import NDArray

from llp.data.table import LabelKind
from llp.ops import bce

Values = NDArray[np.float64]

NORMAL_95 = 1.959963984540054  # standard deviations around the mean that hold 95 % of a normal distribution


def bag_metric(label_kind: LabelKind) -> str:
    """Name of the measure that a run without instance labels reports; smaller is better."""
    return "bag_log_loss" if label_kind == "binary" else "bag_mse"


def bag_log_loss(proportion: Values, prediction: Values) -> float:
    """Mean over bags of the cross-entropy of proportion α (K,), clipped to [0, 1], with mean prediction h̄ (K,)."""
    return float(bce.bag_log_loss(torch.from_numpy(proportion), torch.from_numpy(prediction)).mean())


def bag_mse(proportion: Values, prediction: Values) -> float:
    """Mean over bags of the squared difference of the mean label α (K,) and the mean prediction h̄ (K,)."""
    return float(np.mean(np.square(proportion - prediction)))


def bag_measures(
    label_kind: LabelKind,
    label_sum: Values,
    predicted_sum: Values,
    variance: Values,
    size: Values,
    *,
    epsilon: float | None = None,
) -> dict[str, float]:
    """All measures of K bags from their stated and predicted label sums, (K,) each.

    Binary: bag_coverage is the share of sums within the 95 % interval of the predictions, `variance` that of labels
    drawn from them, Σ h (1 - h); noise_coverage that with the variance 2/ε² of Laplace noise.
    """
    alpha, prediction = label_sum / size, predicted_sum / size
    measures = {}
    if label_kind == "binary":
        measures["bag_log_loss"] = bag_log_loss(alpha, prediction)
        measures["bag_coverage"] = _coverage(label_sum - predicted_sum, variance)
        if epsilon is not None:
            measures["noise_coverage"] = _coverage(label_sum - predicted_sum, variance + 2 / epsilon**2)
    mse = bag_mse(alpha, prediction)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.divide(predicted_sum.sum(), label_sum.sum())
    return {
        **measures,
        "bag_mse": mse,
        "bag_rmse": float(np.sqrt(mse)),
        "bag_mae": float(np.mean(np.abs(alpha - prediction))),
        "mean_prediction_over_mean_label": float(ratio),
    }


def _coverage(difference: Values, variance: Values) -> float:
    """Share of differences within 1.96 standard deviations, and half a count as sums are whole."""
    return float((np.abs(difference) <= NORMAL_95 * np.sqrt(variance) + 0.5).mean())
