"""LLPClassifier and LLPRegressor: estimators of scikit-learn that learn from bags."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from llp.api.base import LLPEstimator
from llp.data.table import LabelKind
from llp.errors import InputError


class LLPClassifier(ClassifierMixin, LLPEstimator):  # type: ignore[misc]
    """A binary classifier that learns from the label proportions of bags.

    Every parameter that is None has the value of the commands' YAML files; a training with the same seed gives the
    commands' scores.

    Parameters
    ----------
    method : str
        A method of `conf/method`, such as upm; dllp_bce unless one is named.
    model : str
        A model of `conf/model`, such as mlp or linear.
    max_epochs, patience : int
        Epochs at most, and epochs without a better loss on the held-out bags before training stops.
    learning_rate : float
        Of the optimizer.
    bags_per_batch : int
        Bags of a minibatch.
    validation_fraction : float
        Share of the bags that are held out to choose the epoch.
    categorical : sequence of str
        Columns that are categorical although they hold numbers; columns of an array are named x0, x1, ...
    rare_threshold : int
        Categorical values seen at most this often share one code.
    numeric_as : {'standardised', 'bins', 'both'}
        What numbers become.
    overrides : sequence of str
        Further options of `llp.train`, as on its command line: ["optimizer.eps=1e-7", "model.hidden=[32]"].
    epsilon : float
        Of Laplace noise of scale 1/ε in the sums of the bags, the proportions times the sizes: proportions may then lie
        outside [0, 1], and `record_` has noise_coverage.
    random_state : int, RandomState or None
        The seed of the initial weights, the order of the bags and every other draw.
    verbose : bool
        Whether the epochs are printed.

    Attributes
    ----------
    classes_ : ndarray
        The two labels; 0 and 1 where only proportions were given.
    n_features_in_, feature_names_in_
        See scikit-learn.
    n_iter_ : int
        Epochs of the last stage.
    record_ : RunRecord
        What the training measured on the held-out bags, and how long it took.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, bags = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    >>> proportions = {bag: (X[bags == bag, 0] > 0).mean() for bag in range(40)}
    >>> classifier = LLPClassifier("upm", max_epochs=5).fit(X, bags=bags, proportions=proportions)
    >>> classifier.predict_proba(X).shape
    (400, 2)
    """

    _label_kind: ClassVar[LabelKind] = "binary"
    _method: ClassVar[str] = "dllp_bce"

    def __sklearn_tags__(self) -> Tags:
        """See scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _labels(self, y: Any) -> NDArray[np.float64] | None:
        if y is None:
            self.classes_ = np.array([0, 1])
            return None
        values = column_or_1d(y, warn=True)
        kind = type_of_target(values, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, encoded = np.unique(values, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("LLPClassifier needs labels of two classes in y, it holds one class")
        return encoded.astype(np.float64)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of the positive class, `classes_[1]`: (n,)."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class: (n, 2)."""
        log_odds = self._scores(X)
        return np.stack([expit(-log_odds), expit(log_odds)], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class: (n,)."""
        log_odds = self._scores(X)
        predicted: NDArray[Any] = self.classes_[(log_odds > 0).astype(int)]
        return predicted


class LLPRegressor(RegressorMixin, LLPEstimator):  # type: ignore[misc]
    """A regressor that learns from the mean labels of bags.

    Parameters and attributes are those of `LLPClassifier`, without `classes_`; the methods are those for real labels,
    dllp_mse unless one is named.
    """

    _label_kind: ClassVar[LabelKind] = "real"
    _method: ClassVar[str] = "dllp_mse"

    def _labels(self, y: Any) -> NDArray[np.float64] | None:
        if y is None:
            return None
        label: NDArray[np.float64] = column_or_1d(y, warn=True).astype(np.float64)
        if not np.isfinite(label).all():
            raise InputError("y contains NaN or infinity: expected finite numbers")
        return label

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted labels: (n,)."""
        return self._scores(X)
