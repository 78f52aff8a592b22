"""Learning from label proportions in scikit-learn's manner: estimators, splitters of whole bags, scorers of bags."""

from llp.api.estimators import LLPClassifier, LLPRegressor
from llp.api.scorers import bag_log_loss_scorer, bag_mse_scorer, unbiased_risk_scorer
from llp.api.splitters import BagKFold, BagShuffleSplit
from llp.metrics.evaluation import bag_log_loss, bag_mse

__all__ = [
    "BagKFold",
    "BagShuffleSplit",
    "LLPClassifier",
    "LLPRegressor",
    "bag_log_loss",
    "bag_log_loss_scorer",
    "bag_mse",
    "bag_mse_scorer",
    "unbiased_risk_scorer",
]
