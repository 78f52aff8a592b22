"""Folds and bags equal to those of the benchmark's authors, row for row."""

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from llp.data.folds import fold_positions
from llp.data.keys import FeatureKey, FixedKey, RandomKey
from tests.helpers.golden_columns import OFFSETS
from tests.helpers.tables import write_table

GOLDEN = Path(__file__).parent / "golden" / "metrics"


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


class Source:
    """A golden file of rows as a table, and its rows as the authors hash them."""

    def __init__(self, name, folder):
        frame = pl.read_csv(GOLDEN / f"{name}_preprocessed.csv.gz")
        label = "label" if name == "ctr" else "Y"
        numeric = [column for column in frame.columns if name == "sscl" and column.startswith("N")]
        names = [column for column in frame.columns if column not in (label, *numeric)]
        sizes = {column: int(frame[column].max()) + 1 for column in names}
        numbers, kind = frame[numeric].to_numpy() if numeric else None, "binary" if name == "ctr" else "real"
        self.table = write_table(folder, sizes, frame[names].to_numpy(), frame[label].to_numpy(), numbers, kind)
        self.names = names
        self.offsets = OFFSETS if name == "ctr" else np.zeros(len(names), int)
        parts = [self.table.label[:, None], self.table.numeric, self.table.categorical]
        self.rows = np.concatenate(parts, axis=1, dtype=np.int64 if name == "ctr" else np.float64, casting="unsafe")

    def hashed_rows(self):
        """The rows with the authors' offsets added to the codes."""
        rows = self.rows.copy()
        rows[:, -len(self.names) :] += self.offsets.astype(rows.dtype)
        return rows


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    return {name: Source(name, folder / name) for name in ("ctr", "sscl")}


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


@pytest.mark.parametrize("case", golden("kfold")["cases"], ids=lambda case: f"n={case['n']}")
def test_folds(case):
    for expected in case["folds"]:
        train, test = fold_positions(case["n"], expected["split"])
        assert (len(train), len(test)) == (expected["n_train"], expected["n_test"])
        assert test[:8].tolist() == expected["first_test_indices"]
        assert sha(test.astype("<i8")) == expected["test_indices_sha256"]


FEATURE = [(name, pair) for name, pairs in golden("feature_bags").items() for pair in pairs]


@pytest.mark.parametrize(("name", "pair"), FEATURE, ids=["-".join(case) for case in FEATURE])
def test_feature_bags(sources, name, pair):
    source, columns = sources[name], tuple(pair.split("_"))
    places = [source.names.index(column) for column in columns]
    key = FeatureKey(columns=columns, low_thresh=50, high_thresh=2500)
    rows = source.hashed_rows()
    for expected in golden("feature_bags")[name][pair]:
        fold = key.fold_bags(source.table, expected["split"])
        bags = fold.train
        groups = source.table.categorical[bags.rows[bags.offsets[:-1]]][:, places] + source.offsets[places]
        # the authors store the bags by size, then key, all descending
        order = np.lexsort([groups[:, 1], groups[:, 0], bags.sizes])[::-1]
        ordered = bags.select(order)
        assert len(bags) == expected["n_bags"]
        assert (len(bags.rows), len(fold.test_rows)) == (expected["n_train_rows"], expected["n_test_rows"])
        assert ordered.sizes.tolist() == expected["bag_size"]
        assert groups[order].tolist() == expected["group"]
        if name == "ctr":
            assert ordered.label_sum.tolist() == expected["label_count"]
        else:
            np.testing.assert_allclose(ordered.label_sum / ordered.sizes, expected["mean_label"], rtol=1e-14)
        digests = [sha(rows[ordered.rows[a:b]]) for a, b in zip(ordered.offsets[:-1], ordered.offsets[1:], strict=True)]
        if "bag_rows_sha256" in expected:
            assert [digest[:16] for digest in digests] == expected["bag_rows_sha256"]
        if "all_rows_sha256" in expected:
            assert hashlib.sha256("".join(digests).encode()).hexdigest() == expected["all_rows_sha256"]


LISTED = [(kind, case) for kind, cases in golden("random_and_fixed_bags").items() for case in cases]


@pytest.mark.parametrize(
    ("kind", "case"), LISTED, ids=[f"{kind}-{case['bag_size_param']}-{case['split']}" for kind, case in LISTED]
)
def test_random_and_fixed_bags(sources, kind, case):
    source = sources["sscl" if kind == "random_sscl" else "ctr"]
    columns = (case["c1"], case["c2"]) if kind == "fixed_size_feature" else ()
    sized = {"bag_size": case["bag_size_param"], "seed": 0}
    key = FixedKey(columns=columns, **sized) if columns else RandomKey(**sized)
    fold = key.fold_bags(source.table, case["split"])
    bags = fold.train
    assert (len(bags), len(bags.rows)) == (case["n_bags"], case["n_train_rows"])
    assert bags.sizes[-1] == case["last_bag_size"]
    assert set(bags.sizes[:-1]) == {case["bag_size_param"]}
    rows = source.hashed_rows()[bags.rows]
    # the authors' order is unseeded: the train rows are compared as a sorted whole
    assert sha(rows[np.lexsort(rows.T[::-1])]) == case["train_rows_sorted_sha256"]
    if "label_count_total" in case:
        assert bags.label_sum.sum() == case["label_count_total"]
    else:
        assert bags.label_mean == pytest.approx(case["weighted_mean_label"], rel=1e-14)
    if columns:
        values = rows[:, [1 + source.table.n_numeric + source.names.index(column) for column in columns]]
        runs = 1 + (values[1:] != values[:-1]).any(1).sum()
        assert runs == case["n_runs_of_equal_group"] == case["n_distinct_groups"]
