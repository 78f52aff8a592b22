"""Instance-level measures of a run: those of every epoch, and the full set at the chosen epoch."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy
from sklearn.metrics import average_precision_score

from llp.data.table import LabelKind
from llp.metrics.ranking import auc_200_thresholds, exact_auc


def main_metric(label_kind: LabelKind) -> tuple[str, Literal["max", "min"]]:
    """Name of the metric that a run reports, and whether larger ('max') or smaller ('min') is better."""
    return ("auc", "max") if label_kind == "binary" else ("mse", "min")


def epoch_measures(
    scores: NDArray[np.floating], labels: NDArray[np.floating], label_kind: LabelKind
) -> dict[str, float]:
    """Measures of every epoch from raw scores z (n,) and labels (n,)."""
    if label_kind == "real":
        return {"mse": mean_squared_error(scores, labels)}
    return {"auc": exact_auc(scores, labels), "auc_200_thresholds": auc_200_thresholds(expit(scores), labels)}


def all_measures(scores: NDArray[np.floating], labels: NDArray[np.floating], label_kind: LabelKind) -> dict[str, float]:
    """Every measure at the chosen epoch, from raw scores z (n,) and labels (n,).

    Returns
    -------
    dict
        binary: auc, auc_200_thresholds, average_precision, log_loss, brier, mean_prediction_over_mean_label;
        real: mse, mae, mean_prediction_over_mean_label. Log loss clips predictions at 1e-7. NaN scores give NaN.
    """
    measures = epoch_measures(scores, labels, label_kind)
    prediction = np.asarray(scores, np.float64)
    if label_kind == "binary":
        finite = bool(np.isfinite(prediction).all()) and 0 < labels.sum() < len(labels)
        measures["average_precision"] = float(average_precision_score(labels, scores)) if finite else float("nan")
        prediction = expit(prediction)
        clipped = np.clip(prediction, 1e-7, 1 - 1e-7)
        measures["log_loss"] = float(-np.mean(xlogy(labels, clipped) + xlogy(1 - labels, 1 - clipped)))
        measures["brier"] = mean_squared_error(prediction, labels)
    else:
        measures["mae"] = float(np.mean(np.abs(prediction - labels)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.divide(prediction.mean(), labels.mean(dtype=np.float64))
    return {**measures, "mean_prediction_over_mean_label": float(ratio)}


def mean_squared_error(prediction: NDArray[np.floating], labels: NDArray[np.floating]) -> float:
    """Mean of the squared differences, summed in float64."""
    difference = np.asarray(prediction, np.float64) - labels
    return float(np.mean(difference * difference))
