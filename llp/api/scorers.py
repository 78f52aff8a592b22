"""Scorers of bags for GridSearchCV and cross_validate, through metadata routing: no label of an instance is needed."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import MetadataRequest

from llp.api.bags import BagLabels, bag_labels
from llp.errors import InputError
from llp.metrics.evaluation import bag_log_loss, bag_mse
from llp.ops.bce import CLIP
from llp.ops.debiasing import surrogate_label

ScoreLoss = Callable[[BagLabels, NDArray[np.float64]], float]


class BagScorer:
    """Minus a loss of bags, from an estimator's predictions h (n,) for their instances."""

    def __init__(self, loss: ScoreLoss, name: str) -> None:
        self._loss = loss
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask for what `fit` is given of the bags: see scikit-learn's metadata routing."""
        request = MetadataRequest(owner=self)
        for name in ("bags", "proportions"):
            request.score.add_request(param=name, alias=True)
        return request

    def __call__(self, estimator: Any, X: Any, y: Any = None, *, bags: Any = None, proportions: Any = None) -> float:
        """Score; larger is better. Refuses to without bags, as where scikit-learn's metadata routing is off."""
        if bags is None:
            raise InputError(
                f"{self} was given no bags. A search hands them over with scikit-learn's metadata routing: write "
                f"sklearn.set_config(enable_metadata_routing=True), then {type(estimator).__name__}(...)"
                ".set_fit_request(bags=True, proportions=True), and search.fit(X, bags=bags, proportions=proportions)"
            )
        prediction = estimator.predict_proba(X)[:, 1] if is_classifier(estimator) else estimator.predict(X)
        label = None if y is None or proportions is not None else _encoded(estimator, y)
        return -self._loss(bag_labels(len(prediction), label, bags, proportions, None), prediction)


def _encoded(estimator: Any, y: Any) -> NDArray[np.float64]:
    return (np.asarray(y) == estimator.classes_[1]).astype(float) if is_classifier(estimator) else np.asarray(y, float)


def _mean_prediction(bags: BagLabels, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(bags.number, weights=bags.of_entries(prediction), minlength=len(bags.size)) / bags.size


def unbiased_risk(bags: BagLabels, prediction: NDArray[np.float64]) -> float:
    """Mean log loss of the instances without their labels, unbiased where bags are random draws.

    The expectation of ỹ = k (α_B - p) + p given an instance of a bag of k is its chance of a 1, for the pooled mean p;
    and the log loss is linear in the label (Busa-Fekete et al., "Easy learning from label proportions", 2023).
    """
    p = bags.label_sum.sum() / bags.size.sum()
    surrogate = surrogate_label(bags.proportion, bags.size, p)[bags.number]
    h = np.clip(bags.of_entries(prediction), CLIP, 1 - CLIP)
    return float(-np.mean(xlogy(surrogate, h) + xlogy(1 - surrogate, 1 - h)))


bag_log_loss_scorer = BagScorer(
    lambda bags, h: bag_log_loss(bags.proportion, _mean_prediction(bags, h)), "bag_log_loss_scorer"
)
bag_mse_scorer = BagScorer(lambda bags, h: bag_mse(bags.proportion, _mean_prediction(bags, h)), "bag_mse_scorer")
unbiased_risk_scorer = BagScorer(unbiased_risk, "unbiased_risk_scorer")
