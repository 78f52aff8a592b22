"""The made tables: known model, long tails, chunks that do not depend on the rows that follow."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from llp.config.targets import check_preparation
from llp.data.table import InstanceTable
from llp.datasets import scoring_model, synthetic
from llp.datasets.published import published_sizes
from llp.errors import InputError
from tests.helpers.composed import checked, composition

pytestmark = pytest.mark.run  # prepares data

CTR = {"seed": 0, "vocab_fraction": 1.0, "signal": 1.5, "rate": 0.25}


def made(folder, rows, **changed):
    synthetic.prepare_ctr(folder=folder, made_by={}, rows=rows, **{**CTR, **changed})
    return InstanceTable.open(folder)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return made(tmp_path_factory.mktemp("synthetic") / "table", 400_000)


def test_shape_is_the_published_one(table):
    assert table.categorical_names == [f"N{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)]
    assert sum(table.vocab_sizes) == 1_000_293
    assert (np.asarray(table.categorical).max(axis=0) < table.vocab_sizes).all()
    assert table.categorical.min() == 0


def test_best_auc_is_that_of_the_true_scores(table):
    model = scoring_model.make_model(tuple(size for _, size in published_sizes("ctr")), n_numeric=0, seed=0)
    chunks = range(4)
    score = np.concatenate([scoring_model.make_features(model, 0, chunk)[2] for chunk in chunks])
    label = table.label[: len(score)]
    assert table.schema.facts["best_auc"] == pytest.approx(roc_auc_score(label, score), abs=0.005)
    assert label.mean() == pytest.approx(0.25, abs=0.01)


def test_score_is_a_sum_of_weights_of_values(table):
    model = scoring_model.make_model(tuple(size for _, size in published_sizes("ctr")), n_numeric=0, seed=0)
    categorical, _, score = scoring_model.make_features(model, 0, 0)
    np.testing.assert_array_equal(categorical, table.categorical[: len(categorical)])
    total = sum(weight[categorical[:, i]].astype(np.float64) for i, weight in enumerate(model.weight))
    np.testing.assert_allclose(score, (total - model.center) / model.spread, atol=1e-4)


def test_a_chunk_does_not_depend_on_the_rows_that_follow_or_on_threads(tmp_path, monkeypatch, table):
    monkeypatch.setattr("llp.datasets.ordered_map.cores", lambda: 1)
    short = made(tmp_path / "short", 50_001)
    np.testing.assert_array_equal(short.categorical, table.categorical[:50_001])
    np.testing.assert_array_equal(short.label, table.label[:50_001])


def test_sscl_noise_is_the_best_mse(tmp_path):
    options = {"seed": 0, "vocab_fraction": 0.1, "mean": 40.0, "signal": 9.0, "noise": 12.0}
    synthetic.prepare_sscl(folder=tmp_path / "sscl", made_by={}, rows=40_000, **options)
    table = InstanceTable.open(tmp_path / "sscl")
    assert (table.label_kind, table.n_numeric, len(table.vocab_sizes)) == ("real", 3, 17)
    sizes = scoring_model.scaled(published_sizes("sscl"), 0.1)
    model = scoring_model.make_model(sizes, n_numeric=3, seed=0)
    score = np.concatenate([scoring_model.make_features(model, 0, chunk)[2] for chunk in (0, 1)])[:40_000]
    residual = table.label - (40 + 9 * score)
    assert (residual**2).mean() == pytest.approx(table.schema.facts["best_mse"], rel=0.03)
    assert abs(np.corrcoef(residual, score)[0, 1]) < 0.02


@pytest.mark.parametrize("fraction", [0, 1.5])
def test_a_vocabulary_beyond_the_published_one_is_refused(fraction):
    with pytest.raises(InputError, match=r"dataset\.vocab_fraction=.*: expected a number > 0 and <= 1"):
        check_preparation(
            checked(composition("train", "dataset=synthetic", f"dataset.vocab_fraction={fraction}")).dataset
        )
