"""Measures of bag datasets against the values that the authors' code computed on the same rows."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from llp.analysis.counting import CodeColumn, count_groups
from llp.analysis.hardness import hardness
from llp.analysis.separation import separation_measures, squared_euclidean
from llp.analysis.vector_blocks import Embedded, Scaled, moments
from llp.data.bags import group_rows, make_bags

GOLDEN = Path(__file__).parent / "golden" / "metrics"
LABELS = json.loads((GOLDEN / "label_analysis.json").read_text())
FEATURES = json.loads((GOLDEN / "feature_analysis.json").read_text())
LABEL_KIND = {"ctr": "binary", "sscl": "real"}

OURS = {  # their name: our name
    "num_instances": "n_instances",
    "num_bags": "n_bags",
    "num_filtered_instances": "n_instances_kept",
    "percentage_instances_left": "percent_instances_kept",
    "num_filtered_bags": "n_bags_kept",
    "num_bags_after_filtering": "n_bags_kept",
    "std_bag_sizes": "std_bag_size",
    **{f"{kind}_bag_size": f"{kind}_bag_size" for kind in ("min", "max", "mean")},
    **{f"{kind}_label_prop": f"{kind}_label_proportion" for kind in ("min", "max", "mean", "std")},
    "std_label": "std_label_proportion",
    "bernoulli_parameter_data_distribution": "label_bias",
    "average_log_likelihood_of_label_distribution": "log_likelihood",
    **{
        f"{kind}_{theirs}": f"{kind}_{ours}"
        for kind in ("min", "max", "mean", "std")
        for theirs, ours in (
            ("inter_distance", "inter_separation"),
            ("intra_distance", "intra_separation"),
            ("ratio", "bag_ratio"),
        )
    },
    "ratio_of_means": "inter_intra_ratio",
}
COUNTS = {"n_instances", "n_bags", "n_instances_kept", "n_bags_kept", "min_bag_size", "max_bag_size"}


def our_name(theirs: str) -> str:
    if theirs.startswith("bag_size_"):
        return "bag_size_p" + theirs.removeprefix("bag_size_").removesuffix("_percentile")
    return OURS[theirs]


def assert_equal(measures, expected, tolerance):
    for theirs, value in expected.items():
        if theirs in ("c1", "c2"):
            continue
        name = our_name(theirs)
        exact = name in COUNTS or name.startswith("bag_size_p")
        assert measures[name] == (value if exact else pytest.approx(value, rel=tolerance, abs=0)), theirs


@pytest.fixture(scope="module")
def rows():
    return {name: pl.read_csv(GOLDEN / f"{name}_preprocessed.csv.gz") for name in LABEL_KIND}


def label_of(frame):
    return frame["label" if "label" in frame.columns else "Y"].to_numpy().astype(np.float32)


def columns_of(frame, pair):
    columns = (frame[name].to_numpy().astype(np.int32) for name in pair.split("_"))
    return [CodeColumn(name, codes, int(codes.max()) + 1) for name, codes in zip(pair.split("_"), columns, strict=True)]


@pytest.mark.parametrize(("dataset", "pair"), [(name, pair) for name in LABELS for pair in LABELS[name]])
def test_label_analysis(rows, dataset, pair):
    frame = rows[dataset]
    counts = count_groups(columns_of(frame, pair), label_of(frame), LABEL_KIND[dataset], smallest=50)
    measures = hardness(counts, LABEL_KIND[dataset], low_thresh=50, high_thresh=2500)
    assert_equal(measures, LABELS[dataset][pair], 1e-9)


def bags_of(frame, pair):
    """Bags of 50 to 2,500 rows, made independently of the package's filter."""
    by = pair.split("_")
    kept = frame.with_row_index("row").filter(pl.len().over(by).is_between(50, 2500))
    key = kept.select(pl.struct(by).rank("dense"))[by[0]].to_numpy().astype(np.uint64)
    return make_bags(*group_rows(key, kept["row"].to_numpy().astype(np.int64)), label_of(frame))


def blocks_of(frame, dataset, precision):
    embedding = np.load(GOLDEN / f"{dataset}_embeddings.npz")
    numbers = [name for name in frame.columns if name[0] in "IN"]
    categorical = [name for name in frame.columns if name[0] == "C"]
    lengths = [np.linalg.norm(embedding[name].astype(np.float64)) if name in embedding else 1.0 for name in numbers]
    scaled = [Scaled(frame[name].to_numpy(), length) for name, length in zip(numbers, lengths, strict=True)]
    return scaled + [Embedded(frame[name].to_numpy(), embedding[name].astype(precision)) for name in categorical]


CASES = [
    (precision, dataset, pair)
    for precision in FEATURES
    for dataset in FEATURES[precision]
    for pair in FEATURES[precision][dataset]
]


@pytest.mark.parametrize(("precision", "dataset", "pair"), CASES)
def test_feature_analysis(rows, precision, dataset, pair):
    dtype = np.dtype(precision.removeprefix("embeddings_"))
    frame = rows[dataset]
    bags = bags_of(frame, pair)
    blocks = blocks_of(frame, dataset, dtype)
    separations = squared_euclidean(moments(block, bags.rows, bags.offsets) for block in blocks)
    measures = separation_measures(separations)
    assert_equal(measures, FEATURES[precision][dataset][pair], 1e-9 if dtype == np.float64 else 1e-5)
