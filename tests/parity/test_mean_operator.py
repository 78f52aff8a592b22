"""The mean operator of feature bags against the benchmark authors' vectors of 1,000,293 numbers."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from llp.data.keys import FeatureKey
from llp.methods.mean_map import bag_coefficients, mean_operator
from tests.helpers.golden_columns import OFFSETS
from tests.helpers.tables import write_table

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted((GOLDEN / "mean_map").glob("*.json"))
VOCABULARY = 1_000_293


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    frame = pl.read_csv(GOLDEN / "metrics" / "ctr_preprocessed.csv.gz")
    names = [f"I{j}" for j in range(1, 14)] + [f"C{j}" for j in range(1, 27)]
    sizes = dict(zip(names, np.diff([*OFFSETS, VOCABULARY]).tolist(), strict=True))
    folder = tmp_path_factory.mktemp("tables") / "ctr"
    return write_table(folder, sizes, frame.select(names).to_numpy(), frame["label"].to_numpy())


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_mean_operator(table, path):
    golden = json.loads(path.read_text())
    key = FeatureKey(columns=(golden["c1"], golden["c2"]), low_thresh=50, high_thresh=2500)
    bags = key.fold_bags(table, golden["split"]).train
    assert sorted(zip(bags.sizes.tolist(), bags.label_sum.tolist(), strict=True)) == sorted(
        zip(golden["bag_size"], golden["label_count"], strict=True)
    )
    assert bags.label_mean == pytest.approx(golden["p_y_equals_1"], rel=1e-12)

    alpha = np.array(golden["label_count"]) / golden["bag_size"]
    inverse, p = np.array(golden["pi_pinv"]), golden["p_y_equals_1"]
    np.testing.assert_allclose(bag_coefficients(alpha, p), p * inverse[1] - (1 - p) * inverse[0], rtol=1e-9)

    operator, _ = mean_operator(table, bags, bag_coefficients(bags.label_sum / bags.sizes, bags.label_mean))
    expected = np.zeros(VOCABULARY)
    expected[golden["nonzero_index"]] = golden["nonzero_value"]
    assert len(operator) == VOCABULARY
    np.testing.assert_allclose(operator, expected, rtol=1e-4, atol=1e-7)
    assert operator.sum() == pytest.approx(golden["sum"], rel=1e-4)
