"""Measures of a run: of instances, each epoch's and all at the chosen one, and of bags if none has a label."""

import math
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, logit
from torch import Tensor
from torch.nn import functional as F
from torchmetrics.functional import mean_absolute_error, mean_squared_error, r2_score, spearman_corrcoef
from torchmetrics.functional.classification import binary_average_precision, binary_calibration_error

from llp.data.table import LabelKind
from llp.metrics.ranking import auc_200_thresholds, exact_auc
from llp.ops import bce
from llp.ops.finite import all_finite

Values = NDArray[np.float64]

NORMAL_95 = 1.959963984540054  # standard deviations around the mean that hold 95 % of a normal distribution


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


CALIBRATION_BINS = 15
LOG_LOSS_CLIP = 1e-7


Metric = tuple[str, Literal["max", "min"]]
"""A metric's name, and which end of it is better."""
MAIN: dict[LabelKind, Metric] = {"binary": ("auc", "max"), "real": ("mse", "min")}
"""The metric that a run reports."""
MAIN_OF_BAGS: dict[LabelKind, Metric] = {"binary": ("bag_log_loss", "min"), "real": ("bag_mse", "min")}
"""The one where no test row has a label."""


def epoch_measures(
    scores: NDArray[np.floating], labels: NDArray[np.floating], label_kind: LabelKind
) -> dict[str, float]:
    """Measures of every epoch from raw scores z (n,) and labels (n,)."""
    if label_kind == "real":
        return {"mse": float(np.mean(np.square(np.asarray(scores, np.float64) - labels)))}
    return {"auc": exact_auc(scores, labels), "auc_200_thresholds": auc_200_thresholds(expit(scores), labels)}


def all_measures(scores: NDArray[np.floating], labels: NDArray[np.floating], label_kind: LabelKind) -> dict[str, float]:
    """Every measure at the chosen epoch, from raw scores z (n,) and labels (n,); NaN scores give NaN."""
    measures = epoch_measures(scores, labels, label_kind)
    z, label = (torch.from_numpy(np.asarray(values, np.float64)) for values in (scores, labels))
    # scipy's, since torch's vectorized sigmoid may give equal scores probabilities that differ in their last bit
    prediction = torch.from_numpy(expit(z.numpy())) if label_kind == "binary" else z
    measures |= binary_measures(z, prediction, label) if label_kind == "binary" else real_measures(prediction, label)
    return {**measures, "mean_prediction_over_mean_label": float(prediction.mean() / label.mean())}


def constant_measures(label_mean: float, labels: NDArray[np.floating], label_kind: LabelKind) -> dict[str, float]:
    """`all_measures` of one prediction, the label mean (clipped for the log loss), named `constant_...`."""
    score = label_mean
    if label_kind == "binary":
        score = float(logit(min(max(label_mean, LOG_LOSS_CLIP), 1 - LOG_LOSS_CLIP)))
    measures = all_measures(np.full(len(labels), score), labels, label_kind)
    # those that are defined of it: it orders nothing, for one
    return {f"constant_{name}": value for name, value in measures.items() if not math.isnan(value)}


def binary_measures(z: Tensor, prediction: Tensor, label: Tensor) -> dict[str, float]:
    """Average precision (by z), log loss (clipped), Brier, calibration error of h = sigmoid(z), (n,) float64."""
    nan = float("nan")
    measures = dict.fromkeys(("average_precision", "log_loss", "brier", "calibration_error"), nan)
    if not all_finite(prediction):
        return measures
    if 0 < float(label.sum()) < len(label):
        rank = torch.unique(z, return_inverse=True)[1]
        measures["average_precision"] = float(binary_average_precision(rank.double() / len(rank), label.long()))
    clipped = prediction.clamp(LOG_LOSS_CLIP, 1 - LOG_LOSS_CLIP)
    measures["log_loss"] = float(F.binary_cross_entropy(clipped, label))
    measures["brier"] = float(mean_squared_error(prediction, label))
    measures["calibration_error"] = float(binary_calibration_error(prediction, label.long(), CALIBRATION_BINS))
    return measures


def real_measures(prediction: Tensor, label: Tensor) -> dict[str, float]:
    """MAE, R² and Spearman's correlation of predictions (n,) float64; NaN where labels, or both, are constant."""
    nan = float("nan")
    varied, label_varied = (bool((values != values[0]).any()) for values in (prediction, label))
    return {
        "mae": float(mean_absolute_error(prediction, label)),
        "r2": float(r2_score(prediction, label)) if label_varied else nan,
        "spearman": float(spearman_corrcoef(prediction, label)) if label_varied and varied else nan,
    }


def weighted_measures(
    scores: NDArray[np.floating], labels: NDArray[np.floating], weight: NDArray[np.floating], label_kind: LabelKind
) -> dict[str, float]:
    """weighted_auc and weighted_log_loss, or weighted_mse, of scores, labels and weights (n,); NaN if undefined."""
    from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score  # a second that few runs need

    counted = weight > 0
    z, y, w = (np.asarray(values[counted], np.float64) for values in (scores, labels, weight))
    if label_kind == "real":
        return {"weighted_mse": float(mean_squared_error(y, z, sample_weight=w)) if len(y) else float("nan")}
    if len(np.unique(y)) < 2:
        return {"weighted_auc": float("nan"), "weighted_log_loss": float("nan")}
    h = np.clip(expit(z), LOG_LOSS_CLIP, 1 - LOG_LOSS_CLIP)
    return {
        "weighted_auc": float(roc_auc_score(y, z, sample_weight=w)),
        "weighted_log_loss": float(log_loss(y, h, sample_weight=w)),
    }
