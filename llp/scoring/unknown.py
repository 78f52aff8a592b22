"""The values of new rows that a model does not know, counted by column: they are scored, but not without a word."""

import logging
import threading

import numpy as np
from numpy.typing import NDArray

from llp.datasets.files.recipe import Recipe

log = logging.getLogger(__name__)


class Unknown:
    """Counts values that a table's vocabularies lack, and missing numbers; threads may share it."""

    def __init__(self, recipe: Recipe) -> None:
        places = {feature.name: i for i, feature in enumerate(recipe.features) if feature.has_vocabulary}
        self._values = {name: i for name, i in places.items() if recipe.features[i].value != "missing"}
        numbers = [(i, feature) for i, feature in enumerate(recipe.features) if not feature.has_vocabulary]
        self._numbers = {feature.column: i for i, feature in numbers}
        self._empty = {name for name, known in recipe.vocabularies.items() if known.drop_nulls().is_empty()}
        self._counts, self._rows = np.zeros(len(recipe.features), np.int64), 0
        self._adding = threading.Lock()

    def add(self, counts: NDArray[np.int64], rows: int) -> None:
        """Count further rows: by feature (F,), see `CodedRows.unknown`."""
        with self._adding:
            self._counts += counts
            self._rows += rows

    def tell(self) -> None:
        """Say how many there were once all rows are scored, and warn of columns in which nothing is known."""
        for places, what, nothing in (
            (
                self._values,
                "values unknown to the model (never or seldom seen)",
                "no value that the model knows",
            ),
            (self._numbers, "missing numbers (scored as the mean, or as bin 0)", "no number"),
        ):
            counts = {name: int(self._counts[i]) for name, i in places.items() if self._counts[i]}
            if counts:
                shown = ", ".join(f"{name} {count:,} ({count / self._rows:.1%})" for name, count in counts.items())
                log.info("of %s row(s), %s: %s", f"{self._rows:,}", what, shown)
            for name in (name for name, count in counts.items() if count == self._rows and name not in self._empty):
                log.warning("%r holds %s: is it written as in the files that were trained on?", name, nothing)
