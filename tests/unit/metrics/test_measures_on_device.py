"""The epoch's measures in torch against those in numpy, on CPU tensors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.metrics import on_device, ranking

PAIRS = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0]), st.one_of(st.integers(-3, 3), st.floats(-9, 9, width=32))),
    min_size=2,
    max_size=60,
)


def arrays(pairs):
    return np.array([score for _, score in pairs], np.float32), np.array([label for label, _ in pairs], np.float32)


@settings(deadline=None)
@given(PAIRS)
def test_auc_is_numpys(pairs):
    scores, labels = arrays(pairs)
    if len(set(labels)) < 2:
        with pytest.warns(ranking.OneClassWarning):
            assert np.isnan(on_device.exact_auc(torch.from_numpy(scores), torch.from_numpy(labels)))
        return
    assert on_device.exact_auc(torch.from_numpy(scores), torch.from_numpy(labels)) == ranking.exact_auc(scores, labels)


@settings(deadline=None)
@given(PAIRS)
def test_auc_of_thresholds_is_numpys(pairs):
    scores, labels = arrays(pairs)
    probabilities = np.abs(scores) / 9
    expected = ranking.auc_200_thresholds(probabilities, labels)
    measured = on_device.auc_200_thresholds(torch.from_numpy(probabilities), torch.from_numpy(labels))
    assert measured == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_a_score_that_is_nan_makes_the_auc_nan():
    labels = torch.tensor([0.0, 1.0, 1.0])
    assert np.isnan(on_device.exact_auc(torch.tensor([0.1, float("nan"), 0.3]), labels))


@pytest.mark.parametrize("kind", ["binary", "real"])
def test_measures_have_the_names_and_values_of_the_final_ones(kind):
    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.normal(size=500).astype(np.float32))
    labels = torch.from_numpy((rng.random(500) < 0.3).astype(np.float32))
    expected = on_device.evaluation.epoch_measures(scores.numpy(), labels.numpy(), kind)
    assert on_device.epoch_measures(scores, labels, kind) == expected
    assert on_device.measures_in_torch(scores, labels, kind) == pytest.approx(expected, abs=1e-6)
