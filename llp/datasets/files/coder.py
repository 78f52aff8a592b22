"""Raw rows of own files as a table's codes and numbers, block by block."""

from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.datasets.encode import encode
from llp.datasets.files.features import Feature, Vocabularies, value_of
from llp.datasets.files.loops import Hashes, bin_numbers, standardise
from llp.datasets.files.options import FilesOptions
from llp.datasets.files.read import normalised
from llp.datasets.files.remembered import RememberedCodes
from llp.datasets.files.values import number
from llp.errors import InputError

REMEMBERED = 2**16  # values of a column, beside twice its vocabulary


class RowCoder:
    """Codes blocks of rows, as they are in the files or `normalised`; threads may share it.

    A number is computed for each row. All else is worked out once for each value, and remembered.

    Parameters
    ----------
    features : list of Feature
        The table's columns, fitted.
    vocabularies : Mapping
        By feature: the values of codes 1, 2, ...
    options : FilesOptions
        How the files are read.
    """

    def __init__(self, features: list[Feature], vocabularies: Vocabularies, options: FilesOptions) -> None:
        self._features = features
        self._vocabularies = vocabularies
        self._options = options
        self._remembered: dict[tuple[str, str], RememberedCodes] = {}  # by feature and type of the raw column

    def encode(self, frame: pl.DataFrame) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Codes (Fc, n) int32 and numbers (n, Fn) float32 of raw rows.

        Raises
        ------
        InputError
            A value of a numeric column is no number, or one of a date no date.
        """
        # the numbers of categories may differ from block to block
        frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        hashes, found = self._hashes(frame), dict[str, NDArray[np.float64]]()
        n_numbers = sum(feature.value == "number" for feature in self._features)
        codes = np.empty((len(self._features) - n_numbers, frame.height), np.int32)
        numbers = np.empty((frame.height, n_numbers), np.float32)
        to_code, to_number = iter(codes), iter(numbers.T)
        for feature in self._features:
            raw = frame[feature.column]
            if feature.has_vocabulary:
                self._code(feature, raw, hashes.get(feature.column), next(to_code))
                continue
            if feature.column not in found:
                found[feature.column] = self._numbers(raw, feature)
            x = found[feature.column]
            if feature.value == "bins":
                bin_numbers(x, np.asarray(feature.edges, np.float64), next(to_code))
            else:
                standardise(x, feature.mean, feature.std, next(to_number))
        return codes, numbers

    def _code(self, feature: Feature, raw: pl.Series, hashes: Hashes | None, out: NDArray[np.int32]) -> None:
        if feature.value == "missing":
            missing = self._normalised(raw).is_null().to_numpy().astype(np.int8)
            out[:] = encode(pl.Series(["false", "true"]), self._vocabularies[feature.name])[missing]
        elif hashes is None:
            out[:] = self._codes(feature, raw)
        else:
            self._memory(feature, raw).codes(raw, hashes, out)

    def _hashes(self, frame: pl.DataFrame) -> dict[str, Hashes]:
        """Hashes of the columns whose codes are remembered; of floats, 0 and -0 have one hash and two texts."""
        coded = {feature.column for feature in self._features if feature.has_vocabulary and feature.value != "missing"}
        kinds = {name: frame.schema[name] for name in coded}
        names = [
            name
            for name, kind in kinds.items()
            if kind in (pl.String, pl.Boolean) or kind.is_integer() or kind.is_temporal()
        ]
        return {one.name: one.to_numpy() for one in frame.select(pl.col(name).hash() for name in names)}

    def _memory(self, feature: Feature, raw: pl.Series) -> RememberedCodes:
        key = (feature.name, str(raw.dtype))
        if key not in self._remembered:
            most = REMEMBERED + 2 * len(self._vocabularies[feature.name])
            self._remembered.setdefault(key, RememberedCodes(partial(self._codes, feature), most))
        return self._remembered[key]

    def _codes(self, feature: Feature, raw: pl.Series) -> NDArray[np.int32]:
        values = self._normalised(raw)
        coded = values.to_frame().select(value_of(feature, values.dtype, self._options)).to_series()
        if feature.value != "text":
            _check_lost(values, coded, feature, "date")
        return encode(coded, self._vocabularies[feature.name])

    def _numbers(self, raw: pl.Series, feature: Feature) -> NDArray[np.float64]:
        """Float64 (n,), NaN where a number is missing."""
        if raw.dtype.is_float() or raw.dtype.is_integer():
            return raw.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        values = self._normalised(raw)
        x = number(raw.name, values.dtype, self._options.reading)
        numbers = values.to_frame().select(x).to_series()
        _check_lost(values, numbers, feature, "number")
        return numbers.fill_null(float("nan")).to_numpy()

    def _normalised(self, raw: pl.Series) -> pl.Series:
        return normalised(raw.to_frame(), self._options.reading).to_series()


def _check_lost(raw: pl.Series, value: pl.Series, feature: Feature, what: str) -> None:
    lost = raw.is_not_null() & value.is_null()
    if lost.any():
        example = raw.filter(lost).cast(pl.String)[0]
        raise InputError(f"column {feature.column!r} holds {example!r}, which is no {what} as in the table's files")
