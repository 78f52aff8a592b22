"""Measures of scores in which instances weigh differently."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from llp.data.table import LabelKind
from llp.metrics.evaluation import LOG_LOSS_CLIP


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
