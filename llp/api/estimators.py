"""LLPClassifier and LLPRegressor: estimators of scikit-learn that learn from bags."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from llp.api.frames import as_frame, bag_labels
from llp.data.table import LabelKind
from llp.datasets.files.read import normalised
from llp.errors import InputError

SCORED_ROWS = 2**16


class _LLPEstimator(BaseEstimator):  # type: ignore[misc]
    """What both have in common."""

    _label_kind: ClassVar[LabelKind]

    def __init__(
        self,
        method: str,
        *,
        model: str | None = None,
        max_epochs: int | None = None,
        patience: int | None = None,
        learning_rate: float | None = None,
        bags_per_batch: int | None = None,
        validation_fraction: float | None = None,
        categorical: Sequence[str] = (),
        rare_threshold: int | None = None,
        numeric_as: str | None = None,
        overrides: Sequence[str] = (),
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.model = model
        self.max_epochs = max_epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.bags_per_batch = bags_per_batch
        self.validation_fraction = validation_fraction
        self.categorical = categorical
        self.rare_threshold = rare_threshold
        self.numeric_as = numeric_as
        self.overrides = overrides
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        """See scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _overrides(self) -> list[str]:
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31)
        given: Mapping[str, Any] = {
            "method": self.method,
            "model": self.model,
            "protocol": "holdout",
            "protocol.held_out": self.validation_fraction,
            "trainer.max_epochs": self.max_epochs,
            "trainer.patience": self.patience,
            "trainer.bags_per_batch": self.bags_per_batch,
            "optimizer.lr": self.learning_rate,
            "seed": int(seed),
        }
        return [f"{name}={value}" for name, value in given.items() if value is not None] + list(self.overrides)

    def _train(self, X: Any, y: NDArray[np.float64] | None, bags: Any, proportions: Any, bag_sizes: Any) -> None:
        from llp.api.training import train

        frame = as_frame(X)
        validate_data(self, X, skip_check_array=True)
        labels = bag_labels(frame.height, y, bags, proportions, bag_sizes)
        coding = {"rare_threshold": self.rare_threshold, "numeric_as": self.numeric_as}
        trained = train(
            frame,
            labels,
            y,
            self._label_kind,
            coding={name: value for name, value in coding.items() if value is not None},
            categorical=self.categorical,
            overrides=self._overrides(),
            verbose=self.verbose,
        )
        self._columns = frame.columns
        self._recipe, self._method = trained.recipe, trained.method
        self.record_ = trained.record
        self.n_iter_ = trained.record.stages[-1].epochs

    @torch.inference_mode()
    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of a binary label, predictions of a real one: (n,)."""
        check_is_fitted(self)
        frame = as_frame(X, least_rows=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        found = []
        for start in range(0, frame.height, SCORED_ROWS):
            rows = frame.slice(start, SCORED_ROWS).select(self._columns)
            codes, numbers = self._recipe.encode(normalised(rows, self._recipe.options.reading))
            raw = self._method(torch.from_numpy(np.ascontiguousarray(codes.T)), torch.from_numpy(numbers))
            found.append(self._method.log_odds(raw).double().numpy())
        return np.concatenate(found)


def _refuse(unknown: Mapping[str, Any], name: str) -> None:
    if "sample_weight" in unknown:
        raise TypeError(f"{name}.fit takes no sample_weight: labels are sums over bags, of instances that count alike")
    if unknown:
        raise TypeError(f"{name}.fit takes X, y, bags, proportions and bag_sizes, not {', '.join(sorted(unknown))}")


class LLPClassifier(ClassifierMixin, _LLPEstimator):  # type: ignore[misc]
    """A binary classifier that learns from the label proportions of bags.

    Every parameter that is None has the value of the commands' YAML files; a training with the same seed gives the
    commands' scores.

    Parameters
    ----------
    method : str
        A method of `conf/method`, such as dllp_bce or upm.
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
        Further options of `llp.train`, as on its command line: ["method.delta=0.1", "model.hidden=[32]"].
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

    def __init__(
        self,
        method: str = "dllp_bce",
        *,
        model: str | None = None,
        max_epochs: int | None = None,
        patience: int | None = None,
        learning_rate: float | None = None,
        bags_per_batch: int | None = None,
        validation_fraction: float | None = None,
        categorical: Sequence[str] = (),
        rare_threshold: int | None = None,
        numeric_as: str | None = None,
        overrides: Sequence[str] = (),
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            method,
            model=model,
            max_epochs=max_epochs,
            patience=patience,
            learning_rate=learning_rate,
            bags_per_batch=bags_per_batch,
            validation_fraction=validation_fraction,
            categorical=categorical,
            rare_threshold=rare_threshold,
            numeric_as=numeric_as,
            overrides=overrides,
            random_state=random_state,
            verbose=verbose,
        )

    def __sklearn_tags__(self) -> Tags:
        """See scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        bags: Any = None,
        proportions: Any = None,
        bag_sizes: Any = None,
        **unknown: Any,
    ) -> Self:
        """Train on bags.

        Parameters
        ----------
        X : array, data frame (pandas, polars, pyarrow) or sparse matrix
            n instances.
        y : array-like, optional
            (n,) labels of the instances, of two classes: only their sums over the bags are used, unless the method is
            one of the supervised references.
        bags : array-like, optional
            (n,) the bag of each instance; None: each instance is a bag of its own.
        proportions : mapping, Series or array-like, optional
            Share of the positive class in each bag: by bag id, in the order of the sorted ids, or (n,) repeated for
            each instance. Noisy ones may lie outside [0, 1].
        bag_sizes : as `proportions`, optional
            Stated sizes, which are checked.

        Raises
        ------
        InputError
            An argument is wrong; it is a ValueError.
        """
        _refuse(unknown, "LLPClassifier")
        label = None
        if y is None and proportions is None:
            raise ValueError(
                "This LLPClassifier estimator requires y to be passed, but the target y is None; or give bags= and "
                "proportions="
            )
        if y is not None:
            values = column_or_1d(y, warn=True)
            kind = type_of_target(values, input_name="y", raise_unknown=True)
            if kind != "binary":
                raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
            self.classes_, encoded = np.unique(values, return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError("LLPClassifier needs labels of two classes in y, it holds one class")
            label = encoded.astype(np.float64)
        else:
            self.classes_ = np.array([0, 1])
        self._train(X, label, bags, proportions, bag_sizes)
        return self

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


class LLPRegressor(RegressorMixin, _LLPEstimator):  # type: ignore[misc]
    """A regressor that learns from the mean labels of bags.

    Parameters and attributes are those of `LLPClassifier`, without `classes_`; the methods are those for real labels,
    such as dllp_mse.
    """

    _label_kind: ClassVar[LabelKind] = "real"

    def __init__(
        self,
        method: str = "dllp_mse",
        *,
        model: str | None = None,
        max_epochs: int | None = None,
        patience: int | None = None,
        learning_rate: float | None = None,
        bags_per_batch: int | None = None,
        validation_fraction: float | None = None,
        categorical: Sequence[str] = (),
        rare_threshold: int | None = None,
        numeric_as: str | None = None,
        overrides: Sequence[str] = (),
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            method,
            model=model,
            max_epochs=max_epochs,
            patience=patience,
            learning_rate=learning_rate,
            bags_per_batch=bags_per_batch,
            validation_fraction=validation_fraction,
            categorical=categorical,
            rare_threshold=rare_threshold,
            numeric_as=numeric_as,
            overrides=overrides,
            random_state=random_state,
            verbose=verbose,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        bags: Any = None,
        proportions: Any = None,
        bag_sizes: Any = None,
        **unknown: Any,
    ) -> Self:
        """Train on bags: see `LLPClassifier.fit`; `proportions` are the mean labels of the bags.

        Raises
        ------
        InputError
            An argument is wrong; it is a ValueError.
        """
        _refuse(unknown, "LLPRegressor")
        if y is None and proportions is None:
            raise ValueError(
                "This LLPRegressor estimator requires y to be passed, but the target y is None; or give bags= and "
                "proportions="
            )
        label = None
        if y is not None:
            label = column_or_1d(y, warn=True).astype(np.float64)
            if not np.isfinite(label).all():
                raise InputError("y contains NaN or infinity: expected finite numbers")
        self._train(X, label, bags, proportions, bag_sizes)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted labels: (n,)."""
        return self._scores(X)
