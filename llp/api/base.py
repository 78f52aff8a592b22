"""What the estimators have in common: their parameters, fitting on bags, and the scores of a trained model."""

import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from llp.api.bags import BagLabels, bag_labels, row_labels
from llp.api.frames import as_frame, as_reports
from llp.data.given_bags import check_sums
from llp.data.noise import LARGEST_SCALE
from llp.data.table import LabelKind
from llp.errors import InputError, invalid

log = logging.getLogger(__name__)

SCORED_ROWS = 2**16
OPTIONS = {  # of the commands, by the parameter
    "validation_fraction": "protocol.held_out",
    "max_epochs": "trainer.max_epochs",
    "patience": "trainer.patience",
    "bags_per_batch": "trainer.bags_per_batch",
    "learning_rate": "optimizer.lr",
}


class LLPEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns from bags; a subclass says which labels it takes.

    See `llp.api.estimators.LLPClassifier` for its parameters.
    """

    _label_kind: ClassVar[LabelKind]
    _method: ClassVar[str]  # where none is named

    def __init__(  # scikit-learn reads an estimator's options off this signature
        self,
        method: str | None = None,
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
        epsilon: float | None = None,
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
        self.epsilon = epsilon
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

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        bags: Any = None,
        proportions: Any = None,
        bag_sizes: Any = None,
        reports: Any = None,
        rows: Literal["unknown"] | None = None,
        X_labelled: Any = None,
        y_labelled: Any = None,
        **unknown: Any,
    ) -> Self:
        """Train on bags.

        Parameters
        ----------
        X : array, data frame (pandas, polars, pyarrow) or sparse matrix
            n instances.
        y : array-like, optional
            (n,) labels of the instances: two classes, or numbers. Only their sums over the bags are used, unless the
            method is one of the supervised references.
        bags : array-like, optional
            (n,) the bag of each instance, or n lists of bags where an instance may be in several; None: each instance
            is a bag of its own.
        proportions : mapping, Series or array-like, optional
            Share of the positive class in each bag, or its mean label. A mapping is read by bag id, and so is a Series
            whose index holds the ids; anything else by position: (n,) repeated for each instance, or (K,) in the order
            of the sorted ids. What can be read in two ways that differ is refused. Noisy ones may lie outside [0, 1],
            where `epsilon` tells the noise.
        bag_sizes : as `proportions`, optional
            Stated sizes, which are checked.
        reports : mapping, optional
            Label sums over the cells of several queries, in place of all the above: by a column or a tuple of columns
            of X a data frame that has them, `label_sum`, perhaps `count`, and where the sums are noisy `noise_sd` or
            `noise_scale` (of Laplace noise). A cell that is not there is not published. For `cell_glm`.
        rows : {'unknown'}, optional
            With `reports`: X is a sample of the rows that they count; each cell needs its `count`.
        X_labelled, y_labelled : as X, array-like (L,), optional
            With `reports`: further rows, whose labels are known.

        Raises
        ------
        InputError
            An argument is wrong; it is a ValueError.
        """
        from llp.api.training import Sample

        name = type(self).__name__
        if "sample_weight" in unknown:
            raise TypeError(
                f"{name}.fit takes no sample_weight: labels are sums over bags, of instances that count alike"
            )
        if unknown:
            options = ", ".join(sorted(unknown))
            raise TypeError(f"{name}.fit takes X, y, bags, proportions and bag_sizes, not {options}")
        if reports is not None:
            self._train_on_reports(X, reports, [y, bags, proportions, bag_sizes], rows, [X_labelled, y_labelled])
            return self
        if any(one is not None for one in (rows, X_labelled, y_labelled)):
            raise InputError("rows=, X_labelled= and y_labelled= go with reports=; expected that one too")
        if y is None and proportions is None:
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None; or give bags= and "
                "proportions="
            )
        label, frame = self._labels(y), as_frame(X)
        validate_data(self, X, skip_check_array=True)
        labels = bag_labels(frame.height, label, bags, proportions, bag_sizes)
        self._train_on(Sample(frame, labels, label, self._label_kind, self._facts(labels)), self.categorical)
        return self

    @abstractmethod
    def _labels(self, y: Any) -> NDArray[np.float64] | None:
        """The labels of instances as numbers (n,), checked; None where there are none."""

    def _train_on_reports(self, X: Any, reports: Any, others: list[Any], rows: Any, beside: list[Any]) -> None:
        from llp.api.training import Sample

        if any(one is not None for one in others):
            raise InputError(
                "reports= holds all label sums; expected no y=, bags=, proportions= or bag_sizes= beside it"
            )
        if self.epsilon is not None:
            raise invalid("epsilon", self.epsilon, "None, as a report states its noise in noise_sd or noise_scale")
        if rows not in (None, "unknown"):
            raise invalid("rows", rows, "'unknown', where X is a sample of those that the reports count, or None")
        frame, tables = as_frame(X), as_reports(reports)
        self._labels(None)
        validate_data(self, X, skip_check_array=True)
        columns = {name for query in tables for name in query}
        if unknown := sorted(columns - {*frame.columns}):
            names = ", ".join(frame.columns)
            raise InputError(f"Invalid reports: {unknown[0]!r} is no column of X; expected some of {names}")
        labelled = None
        further, y = beside
        if (further is None) != (y is None):
            raise InputError("X_labelled= and y_labelled= are rows and their labels; expected both or none")
        if further is not None:
            known = as_frame(further, least_rows=1)
            validate_data(self, further, reset=False, skip_check_array=True)
            known.columns = frame.columns
            labelled = known, row_labels(y, known.height, self._label_kind)
        sample = Sample(frame, tables, None, self._label_kind, {}, rows, labelled)
        self._train_on(sample, [*{*self.categorical} | columns])

    def _train_on(self, sample: Any, categorical: Sequence[str]) -> None:
        from llp.api.training import files_options, train

        coding = {"rare_threshold": self.rare_threshold, "numeric_as": self.numeric_as}
        try:
            options = files_options(coding, categorical)
            trained = train(sample, options, self._overrides(), verbose=self.verbose)
        except InputError as error:
            message = str(error)
            for name, option in OPTIONS.items():
                message = message.replace(f"{option}=", f"{name}=")
            raise InputError(message) from None
        self._columns = sample.frame.columns
        self._recipe, self._trained = trained.recipe, trained.method
        self.record_ = trained.record
        self.n_iter_ = trained.record.stages[-1].epochs

    def _facts(self, labels: BagLabels) -> dict[str, float]:
        """What is known of the noise in the sums, which are refused where no bag can have them."""
        epsilon, numbers = self.epsilon, int | float | np.floating
        if epsilon is not None and not (isinstance(epsilon, numbers) and 1 / LARGEST_SCALE <= epsilon < float("inf")):
            expected = f"a number >= {1 / LARGEST_SCALE:g}, or None where the proportions hold no noise"
            raise invalid("epsilon", epsilon, expected, 1.0)
        outside = check_sums(
            labels.label_sum, labels.size, labels.ids, self._label_kind, stated="proportions", epsilon=epsilon
        )
        if outside:
            log.warning("noise has moved %d of the %d proportions out of 0 to 1", outside, len(labels.ids))
        return {} if epsilon is None else {"epsilon": float(epsilon), "sums_outside": outside}

    def _overrides(self) -> list[str]:
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31)
        given: Mapping[str, Any] = {
            "method": self.method or self._method,
            "model": self.model,
            "protocol": "holdout",
            **{option: getattr(self, name) for name, option in OPTIONS.items()},
            "seed": int(seed),
        }
        return [f"{name}={value}" for name, value in given.items() if value is not None] + list(self.overrides)

    @torch.inference_mode()
    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of a binary label, predictions of a real one: (n,)."""
        check_is_fitted(self)
        frame = as_frame(X, least_rows=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        frame.columns = self._columns  # by position where one of both tables is an array; else the names are checked
        found, coder = [], self._recipe.coder()
        for start in range(0, frame.height, SCORED_ROWS):
            rows = frame.slice(start, SCORED_ROWS).select(self._columns)
            codes, numbers, _ = coder.encode(rows, lambda i: f"row {start + i}")  # noqa: B023  # called at once
            raw = self._trained.score(torch.from_numpy(np.ascontiguousarray(codes.T)), torch.from_numpy(numbers))
            found.append(self._trained.log_odds(raw).double().numpy())
        return np.concatenate(found)
