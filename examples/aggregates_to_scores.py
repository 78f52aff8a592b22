"""From sums over bags to scores of instances, and the choice of a learning rate without any label of an instance."""

# %% Impressions with a campaign each, and the clicks of each campaign
import numpy as np
import polars as pl
import sklearn
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from llp import BagKFold, LLPClassifier, bag_log_loss_scorer

rng = np.random.default_rng(0)
n = 10_000
price, shop = rng.normal(size=n).round(3), rng.integers(0, 8, n)
clicked = rng.random(n) < 1 / (1 + np.exp(1 - price - shop / 4))
campaign = np.argsort(np.argsort(price + rng.normal(size=n))) // 50
X = pl.DataFrame({"shop": [f"shop {one}" for one in shop], "price": price})
proportions = {bag: clicked[campaign == bag].mean() for bag in range(n // 50)}

# %% Train on the campaigns' shares alone
classifier = LLPClassifier("dllp_bce", max_epochs=5).fit(X, bags=campaign, proportions=proportions)
print("of the held-out campaigns:", classifier.record_.measures)

# %% What nobody with aggregates alone could see: the AUC of the instances
print("AUC of the instances:", roc_auc_score(clicked, classifier.decision_function(X)))

# %% Choose the learning rate by whole campaigns
sklearn.set_config(enable_metadata_routing=True)
search = GridSearchCV(
    LLPClassifier("dllp_bce", max_epochs=3).set_fit_request(bags=True, proportions=True),
    {"learning_rate": [1e-4, 1e-2]},
    cv=BagKFold(3),
    scoring=bag_log_loss_scorer,
)
search.fit(X, bags=campaign, proportions=proportions)
print("chosen:", search.best_params_)
