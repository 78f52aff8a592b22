"""The measures of every epoch where the scores are: in torch on a GPU, by numpy, which sorts faster, on the CPU."""

import warnings

import torch
from torch import Tensor

from llp.data.table import LabelKind
from llp.metrics import evaluation
from llp.metrics.ranking import OneClassWarning, thresholds_200


def epoch_measures(scores: Tensor, labels: Tensor, label_kind: LabelKind) -> dict[str, float]:
    """Measures of every epoch from raw scores z (n,) and labels (n,): see `llp.metrics.evaluation.epoch_measures`."""
    if not scores.is_cuda:
        return evaluation.epoch_measures(scores.float().numpy(), labels.numpy(), label_kind)
    return measures_in_torch(scores, labels, label_kind)


def measures_in_torch(scores: Tensor, labels: Tensor, label_kind: LabelKind) -> dict[str, float]:
    """The same by torch, on whatever device."""
    if label_kind == "real":
        return {"mse": float(torch.square(scores.double() - labels).mean())}
    return {
        "auc": exact_auc(scores.float(), labels),
        "auc_200_thresholds": auc_200_thresholds(torch.sigmoid(scores.float()), labels),
    }


def exact_auc(scores: Tensor, labels: Tensor) -> float:
    """Probability that a positive (n,) float32 scores above a negative; a tie counts half. NaN as by `ranking`."""
    positive, negative = scores[labels == 1].sort().values, scores[labels == 0].sort().values
    if not len(positive) or not len(negative):
        only = "positive" if len(positive) else "negative"
        warnings.warn(f"AUC is undefined: all {len(labels)} labels are {only}", OneClassWarning, stacklevel=2)
        return float("nan")
    if positive[-1].isnan() or negative[-1].isnan():  # NaN sorts last
        return float("nan")
    wins = sum(int(torch.searchsorted(negative, positive, right=right).sum()) for right in (False, True))
    return wins / (2.0 * len(positive) * len(negative))


def auc_200_thresholds(probabilities: Tensor, labels: Tensor) -> float:
    """AUC by the trapezoid over 200 fixed thresholds from probabilities (n,) float32: see `ranking`."""
    thresholds = torch.from_numpy(thresholds_200()).to(probabilities.device)
    bucket = torch.searchsorted(thresholds, probabilities)  # thresholds below it
    counts = [torch.bincount(bucket[labels == y], minlength=201).double() for y in (0, 1)]
    if not counts[0].sum() or not counts[1].sum():
        return float("nan")
    false_positive, true_positive = (1.0 - count.cumsum(0)[:200] / count.sum() for count in counts)
    return float(-torch.trapezoid(true_positive, false_positive))
