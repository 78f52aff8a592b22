"""Tables in every form: the same columns, predictions by position where names are missing, wrong values by place."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from llp import LLPClassifier
from llp.api import base
from llp.api.frames import as_frame
from llp.errors import InputError


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.array([1, None, 3], dtype="Int64"), pl.Series([1, None, 3])),
        (pd.array([1.5, None, 3], dtype="Float64"), pl.Series([1.5, None, 3])),
        (pd.array([True, None, False], dtype="boolean"), pl.Series([True, None, False])),
        (pd.array(["a", None, "b"], dtype="string"), pl.Series(["a", None, "b"])),
        (pd.Categorical([3, None, 1]), pl.Series([3.0, None, 1.0])),
        (pd.Series([1, pd.NA, 3], dtype=object), pl.Series([1, None, 3])),
        (pd.Series(["a", pd.NA, 3], dtype=object), pl.Series(["a", None, "3"])),
        (pd.Series(["a", pd.NaT, np.nan], dtype=object), pl.Series(["a", None, None])),
        (pd.Series([np.int64(1), None, np.int8(3)], dtype=object), pl.Series([1, None, 3])),
        (pd.Series([np.int64(1), np.float32(1.5), None], dtype=object), pl.Series([1.0, 1.5, None])),
        (pd.Series([np.bool_(True), False, None], dtype=object), pl.Series([True, False, None])),
        (pd.Series([Decimal("1.5"), 2**70, True], dtype=object), pl.Series([1.5, 2.0**70, 1.0])),
        (pd.Series([date(2026, 1, 2), None, "3"], dtype=object), pl.Series(["2026-01-02", None, "3"])),
    ],
    ids=repr,
)
def test_columns_of_pandas_and_of_objects(column, expected):
    frame = as_frame(pd.DataFrame({"c": column}))
    assert_frame_equal(frame, pl.DataFrame({"c": expected}), check_dtypes=False)
    assert frame["c"].dtype.is_numeric() == expected.dtype.is_numeric()
    objects = np.array([[one] for one in pd.Series(column)], dtype=object)
    assert_frame_equal(as_frame(objects), frame.rename({"c": "x0"}))


def table(n=400):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"price": rng.normal(size=n), "shop": rng.choice(["A", "B"], n), "code": rng.integers(3, 6, n)})


@pytest.mark.parametrize("fitted_on", ["frame", "polars", "array"])
def test_predictions_for_a_frame_and_for_an_array_are_the_same(fitted_on, monkeypatch):
    frame = table()
    forms = {
        "frame": frame,
        "polars": pl.DataFrame({name: [*frame[name]] for name in frame}),
        "array": frame.to_numpy(),
    }
    y, bags = frame["price"] + (frame["code"] == 4) > 0, np.arange(400) // 10
    categorical = ["x2"] if fitted_on == "array" else ["code"]
    classifier = LLPClassifier(max_epochs=3, learning_rate=0.05, categorical=categorical)
    classifier.fit(forms[fitted_on], y, bags=bags)
    expected = classifier.predict_proba(forms[fitted_on])
    assert expected.std() > 0.01
    for form, X in forms.items():
        if (form == "array") != (fitted_on == "array"):
            with pytest.warns(UserWarning, match="feature names, but LLPClassifier was fitted with"):
                np.testing.assert_array_equal(classifier.predict_proba(X), expected)
        else:
            np.testing.assert_array_equal(classifier.predict_proba(X), expected)
    with pytest.raises(ValueError, match="X has 2 features, but LLPClassifier is expecting 3 features"):
        classifier.predict_proba(frame.to_numpy()[:, :2])
    with pytest.raises(InputError, match=r"X has 0 row\(s\) and 3 column\(s\): expected at least 1"):
        classifier.predict_proba(frame[:0])
    monkeypatch.setattr(base, "SCORED_ROWS", 5)
    with pytest.raises(InputError, match=r"row 7: column '(price|x0)' holds 'inf', which is no number"):
        classifier.predict_proba(frame.assign(price=[0.5] * 7 + [np.inf] * 393))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (table()[:0], r"X has 0 row\(s\) and 3 column\(s\): expected at least 2 and 1"),
        (table()[[]], "expected at least 2"),
        (pl.DataFrame(), "expected at least 2"),
        (pd.Series([1.0, 2.0]), "Expected a 2-dimensional container but got"),
        (pd.DataFrame({"a": [1, 2], "b": [0.5, -np.inf]}), "row 1: column 'b' holds -inf, but a number of a table l"),
        (pl.DataFrame({"a": [1e300, None]}), r"row 0: column 'a' holds 1e\+300, but a number of a table lies within"),
        (np.array([[1, 2], [1e39, 3]]), r"row 1: column 'x0' holds 1e\+39, but"),
        (np.array([[1, 2], [10**400, 3]], dtype=object), "row 1: column 'x0' holds inf, but"),
        (pd.DataFrame({"a": [1, 2], "b": [[1], [2]]}), "column 'b' of X holds list objects: write them as texts or"),
        (pd.DataFrame({"a": np.array([1j, 2])}), "column 'a' of X holds complex objects"),
    ],
)
def test_what_is_no_table_of_finite_values_is_refused_with_its_place(X, message):
    with pytest.raises((ValueError, TypeError), match=message) as raised:
        LLPClassifier().fit(X, bags=[0, 1], proportions=[0, 1])
    assert "\n" not in str(raised.value) or "Expected a 2" in message
