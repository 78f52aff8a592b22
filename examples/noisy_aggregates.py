"""Sums with privacy noise: what a report of ε-differential privacy costs, for bags of two sizes."""

# %% Rows in bags of people who visited at about the same time
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from llp import LLPClassifier

rng = np.random.default_rng(0)
n = 10_000
X = pd.DataFrame({"age": rng.integers(18, 90, n), "ward": rng.choice(["north", "south", "east"], n)})
ill = rng.random(n) < 1 / (1 + np.exp(4 - X["age"] / 20 - (X["ward"] == "east")))
order = np.argsort(np.argsort(X["age"] + 30 * rng.normal(size=n)))


def area(epsilon: float | None, size: int) -> float:
    """AUC of the instances after training on sums of bags of a size, with Laplace noise of scale 1/ε."""
    bags = pd.Series(order // size)
    sums = pd.Series(ill.to_numpy()).groupby(bags).sum()
    if epsilon is not None:
        sums = sums + rng.laplace(scale=1 / epsilon, size=len(sums))  # may be negative, or above the size
    classifier = LLPClassifier("dllp_mse", max_epochs=10, learning_rate=0.01)
    classifier.fit(X, bags=bags, proportions=sums / bags.value_counts().sort_index())
    return float(roc_auc_score(ill, classifier.decision_function(X)))


# %% Larger bags drown the noise, and hide the instances
for size in (10, 50):
    for epsilon in (None, 1.0, 0.1):
        print(f"bags of {size}, ε {epsilon}: AUC {area(epsilon, size):.3f}")
