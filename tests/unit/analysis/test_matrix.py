"""The BagSepMatrix of a chosen key: its bags, its numbers, its file and its figure."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from llp.analysis.matrix import evenly_spaced, measure_matrix, read_matrices, remove_matrices_of_other_tables
from llp.analysis.separation import Distances, from_matrix
from llp.analysis.space import multi_hot_space
from llp.analyze import analyze, matrix_keys
from llp.data.bags import Bags
from llp.data.keys import RandomKey
from llp.data.table import InstanceTable
from llp.errors import InputError
from tests.helpers.commands import TINY
from tests.helpers.composed import check_config, composition

pytestmark = pytest.mark.run  # measures for seconds

SMALL = ["key_size=1", "bag_sizes=[64]", "low_thresh=5", "dataset.key_columns=[C3,C12]", "grouping_key=C3"]

METRICS = ("sqeuclidean", "cityblock")  # the same of vectors of zeros and ones


@pytest.fixture(scope="module")
def composed(tmp_path_factory, data_dir):
    places = [f"data_dir={data_dir}", f"outputs_dir={tmp_path_factory.mktemp('outputs')}"]

    def compose_with(*overrides):
        return check_config(composition("analyze", *TINY[:3], *SMALL, *places, *overrides), "analyze")

    return compose_with


@pytest.fixture(scope="module")
def analysed(composed):
    """The folder of an analysis with three matrices, and its config."""
    config = composed("matrix=[C12,random_64,fixed_C3_64]", "matrix_bags=20")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("llp.analyze.FIGURES", {})  # they take seconds, and have tests of their own
        return analyze(config), config


def test_its_means_are_the_separations_of_the_analysis(analysed):
    folder, _ = analysed
    matrices, problems = read_matrices(folder)
    assert problems == []
    matrix = matrices["C12"]
    row = pl.read_parquet(folder / "analysis.parquet").row(by_predicate=pl.col("grouping_key") == "C12", named=True)
    assert len(matrix) == row["n_bags_kept"] == matrix["n_bags"][0]
    separations = from_matrix(np.array(matrix["separation"].to_list()))
    assert separations.intra.mean() == pytest.approx(row["mean_intra_separation"])
    assert separations.inter.mean() == pytest.approx(row["mean_inter_separation"])
    assert matrix["label_mean"].is_sorted()


def test_any_kind_of_key_has_one_and_is_drawn(analysed):
    folder, _ = analysed
    matrices, _ = read_matrices(folder)
    assert set(matrices) == {"C12", "random_64", "fixed_C3_64"}
    assert len(matrices["random_64"]) == 20
    assert matrices["random_64"]["n_bags"][0] == 2000 // 64 + 1
    for key in matrices:
        assert f"{key}: " in (folder / "figures" / f"bag_sep_matrix_{key}.svg").read_text()


def test_another_metric_takes_all_pairs(analysed):
    _, config = analysed
    table = InstanceTable.open(Path(config.data_dir) / config.dataset.table)
    space, key = multi_hot_space(table), RandomKey(bag_size=64, seed=0)
    one, other = (measure_matrix(table, key, Distances(space, metric, 192), 3) for metric in METRICS)
    np.testing.assert_allclose(one["separation"].to_list(), other["separation"].to_list(), rtol=1e-12)
    with pytest.raises(InputError, match=r"metric=cityblock: it measures all pairs.*, fewer matrix_bags"):
        measure_matrix(table, key, Distances(space, "cityblock", 192), 4)
    whole = RandomKey(bag_size=5000, seed=0)
    with pytest.raises(InputError, match="matrix=random_5000: expected a key of two bags or more, and it keeps 1"):
        measure_matrix(table, whole, Distances(space, "sqeuclidean", 192), 4)


def test_bags_stand_for_all_from_the_least_to_the_largest_label_mean():
    sums = np.array([5.0, 1, 3, 0, 2, 4])
    bags = Bags(np.arange(60), np.arange(0, 61, 10), sums)
    assert evenly_spaced(bags, 3).tolist() == [3, 2, 0] or evenly_spaced(bags, 3).tolist() == [3, 4, 0]
    assert evenly_spaced(bags, 9).tolist() == [3, 1, 4, 2, 5, 0]


def test_what_cannot_be_measured_is_told(composed):
    for wrong, message in {
        "matrix=C99": "Invalid matrix='C99': expected key columns of dataset synthetic, which has no C99 but C3, C12",
        "matrix=[C3,C12_C3]": "Invalid matrix='C12_C3': expected columns in table order, each once, such as matrix=C3_",
        "matrix=prior_64": "Invalid matrix='prior_64': expected a key that its name tells whole, or",
        "matrix_bags=1": "Invalid matrix_bags=1: expected an integer >= 2",
    }.items():
        with pytest.raises(InputError) as error:
            matrix_keys(composed(wrong))
        assert str(error.value).startswith(message)
    with pytest.raises(InputError, match="Invalid space='none': expected multi_hot or the folder of a finished run, f"):
        matrix_keys(composed("matrix=C3", "space=none"))
    assert [key.low_thresh for key in matrix_keys(composed("matrix=C3"))] == [5]


def test_matrices_of_an_earlier_table_and_damaged_ones_go(analysed, tmp_path, data_dir):
    folder, config = analysed
    table = InstanceTable.open(data_dir / config.dataset.table)
    good = pl.read_parquet(folder / "matrices" / "C12.parquet")
    (tmp_path / "matrices").mkdir()
    good.write_parquet(tmp_path / "matrices" / "kept.parquet")
    good.with_columns(table=pl.lit("0123")).write_parquet(tmp_path / "matrices" / "old.parquet")
    (tmp_path / "matrices" / "bad.parquet").write_text("PAR1")
    assert set(read_matrices(tmp_path)[0]) == {"kept", "old"}
    assert "bad.parquet cannot be used" in read_matrices(tmp_path)[1][0]
    remove_matrices_of_other_tables(tmp_path, table)
    assert [path.name for path in (tmp_path / "matrices").iterdir()] == ["kept.parquet"]
