"""AUC against scikit-learn's, with ties, and at the size of a real test fold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from llp.metrics.ranking import auc_200_thresholds, exact_auc, thresholds_200


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1]), st.one_of(st.integers(-3, 3), st.floats(-(2.0**99), 2.0**99, width=32))),
        min_size=2,
        max_size=60,
    )
)
def test_exact_auc_is_sklearns(pairs):
    labels = np.array([label for label, _ in pairs], np.float32)
    scores = np.array([score for _, score in pairs], np.float32)
    if len(set(labels)) < 2:
        with pytest.warns(UserWarning, match="AUC is undefined"):
            assert np.isnan(exact_auc(scores, labels))
        return
    assert exact_auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


@pytest.mark.parametrize(("label", "only"), [(0, "negative"), (1, "positive")])
def test_one_class_is_nan_with_a_warning_that_names_it(label, only):
    with pytest.warns(UserWarning, match=f"all 7 labels are {only}"):
        assert np.isnan(exact_auc(np.arange(7.0), np.full(7, label)))


@pytest.mark.parametrize("label", [0, 1])
def test_a_score_that_is_nan_makes_the_auc_nan(label):
    assert np.isnan(exact_auc(np.array([0.1, 0.2, np.nan, 0.3]), np.array([0, 1, label, 1 - label])))


def test_infinite_scores_are_the_ends():
    assert exact_auc(np.array([-np.inf, 0.0, 1.0, np.inf]), np.array([0, 1, 0, 1])) == 0.75


def test_a_probability_on_a_threshold_is_not_above_it():
    threshold = thresholds_200()[50]
    below, above = np.nextafter(threshold, np.float32(0)), np.nextafter(threshold, np.float32(1))
    assert auc_200_thresholds(np.array([threshold, below]), np.array([1, 0])) == 0.5
    assert auc_200_thresholds(np.array([above, threshold]), np.array([1, 0])) == 1.0
