"""Ranking measures against Keras' AUC and scikit-learn's."""

import json
from pathlib import Path

import numpy as np
import pytest

from llp.metrics.ranking import auc_200_thresholds, exact_auc

CASES = json.loads((Path(__file__).parent / "golden" / "auc" / "auc.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["category"] for case in CASES])
def test_auc(case):
    scores, labels = np.array(case["scores"], np.float32), np.array(case["labels"])
    assert exact_auc(scores, labels) == pytest.approx(case["exact_auc"], abs=1e-12)
    assert auc_200_thresholds(scores, labels) == pytest.approx(case["keras_auc"], abs=1e-6)
