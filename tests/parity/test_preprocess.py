"""Preprocessing of both Criteo files against the reference's own output."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.helpers.raw import prepare_ctr, prepare_sscl

GOLDEN = Path(__file__).parent / "golden" / "preprocess"
REAL = Path(os.environ.get("LLP_REAL_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL_CTR = REAL / "criteo_ctr_first10000.tsv.gz"
REAL_SIZES = "30 133 52 81 16 8 145 24 3 87 205 60 211 14 197 77 10 174 32 5 69 7 13 90 25 60"


def assert_bijection(ours, theirs):
    pairs = np.unique(np.stack([ours, theirs]), axis=1).shape[1]
    assert pairs == len(np.unique(ours)) == len(np.unique(theirs))


@pytest.mark.parametrize("name", ["ctr_tiny", "ctr_synthetic"])
def test_ctr_equals_the_reference(tmp_path, name):
    table = prepare_ctr(tmp_path / name, GOLDEN / f"{name}.raw.tsv.gz")
    theirs = pl.read_csv(GOLDEN / f"{name}.out.csv.gz")
    np.testing.assert_array_equal(table.label, theirs["label"])
    for i, column in enumerate(table.categorical_names):
        ours, reference = table.categorical[:, i], theirs[column.replace("N", "I")].to_numpy()
        if column.startswith("N"):
            np.testing.assert_array_equal(ours, reference, err_msg=column)
        else:
            assert_bijection(ours, reference)


@pytest.mark.parametrize("name", ["sscl_tiny", "sscl_synthetic", "sscl_nan_titles"])
def test_sscl_equals_the_reference(tmp_path, name):
    table = prepare_sscl(tmp_path / name, GOLDEN / f"{name}.raw.tsv.gz", "log2_squared")
    theirs = pl.read_csv(GOLDEN / f"{name}.out.csv.gz", infer_schema_length=None)
    np.testing.assert_allclose(table.label, theirs["Y"], rtol=1e-6)
    np.testing.assert_allclose(table.numeric, theirs.select("N1", "N2", "N3"), rtol=1e-6)
    for i, column in enumerate(table.categorical_names):
        assert_bijection(table.categorical[:, i], theirs[column].to_numpy())


@pytest.mark.skipif(not REAL_CTR.is_file(), reason="the first 10,000 rows of the real file are not there")
def test_vocabularies_of_real_rows(tmp_path):
    table = prepare_ctr(tmp_path / "real", REAL_CTR)
    assert table.vocab_sizes[13:] == [int(size) for size in REAL_SIZES.split()]
    assert table.schema.facts["label_mean"] == pytest.approx(0.2182)
    assert table.schema.facts["published"].startswith("as from a part of the published file: 10,000 rows")
