"""The anatomy of all bag datasets of a small table: keys, stored results, bags of the whole table, checks."""

from functools import partial

import numpy as np
import polars as pl
import pytest

from llp.analysis.counting import GroupCounts
from llp.analysis.drawing import save_figures
from llp.analysis.figures import FIGURES, draw, shown_keys
from llp.analysis.hardness import hardness
from llp.analysis.measurer import Measurer, feature_keys, run_keys
from llp.analysis.separation import Distances, squared_euclidean
from llp.analysis.space import multi_hot_space
from llp.analysis.vector_blocks import Scaled, moments
from llp.analyze import add_clusters, check_metric, make_space
from llp.errors import InputError
from tests.helpers.composed import open_table, run_of, run_one
from tests.helpers.tables import write_table

N, C = 900, "../../C"
VOCAB = {"A": 6, "B": 40, C: 300}  # a name that would leave the folder of the stored keys


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    codes = np.column_stack([(size * rng.random(N) ** 2).astype(np.int32) for size in VOCAB.values()])
    numbers = rng.normal(size=(N, 1)).astype(np.float32)
    folder = tmp_path_factory.mktemp("tables") / "small"
    return write_table(folder, VOCAB, codes, (rng.random(N) < 0.3).astype(np.float32), numbers)


def by(space, metric="sqeuclidean", limit=0):
    return Distances(space, metric, limit)


def keys_of(size, low=10):
    return feature_keys(list(VOCAB), size, low, 400)


def test_keys_are_the_subsets_of_columns_by_size_and_runs_of_each_size():
    assert [key.columns for key in keys_of(2)] == [("A",), ("B",), (C,), ("A", "B"), ("A", C), ("B", C)]
    names = [key.name for key in run_keys(("A", "B"), (64, 128), seed=0)]
    assert names == ["random_64", "random_128", "fixed_A_B_64", "fixed_A_B_128"]
    assert [key.name for key in run_keys((), (64,), seed=0)] == ["random_64"]


def test_counts_are_those_of_the_bags(table, tmp_path):
    keys = keys_of(3)
    found = list(Measurer(table, tmp_path / "a" / "store", threads=2).count_all(keys))
    assert len([*(tmp_path / "a" / "store" / "counting").iterdir()]) == len(keys)
    for key, measures in zip(keys, found, strict=True):
        kept = pl.DataFrame({name: table.codes(name) for name in key.columns}).group_by(key.columns).len()
        assert measures["n_bags"] == len(kept), key.name
        if measures["n_bags_kept"]:
            bags = key.all_bags(table)
            counts = GroupCounts(N, len(bags), bags.sizes, bags.label_sum)
            expected = hardness(counts, "binary", low_thresh=None, high_thresh=None)
            for name in ("n_bags_kept", "percent_instances_kept", "std_label_proportion", "cramers_v", "bag_size_p85"):
                assert measures[name] == pytest.approx(expected[name], nan_ok=True), (key.name, name)


def dense(table):
    one_hot = [np.eye(size)[table.codes(name)] for name, size in VOCAB.items()]
    return np.column_stack([table.numeric, *one_hot])


def test_separations_are_those_of_the_dense_vectors(table, tmp_path):
    key, *_ = keys_of(1)
    (found,) = Measurer(table, tmp_path, threads=2).bag_all([key], by(multi_hot_space(table)))
    bags, points = key.all_bags(table), dense(table)
    blocks = [Scaled(points[:, j], length=1.0) for j in range(points.shape[1])]
    expected = squared_euclidean(moments(block, bags.rows, bags.offsets) for block in blocks)
    assert found["mean_intra_separation"] == pytest.approx(expected.intra.mean(), rel=1e-9)
    assert found["inter_intra_ratio"] == pytest.approx(expected.inter.mean() / expected.intra.mean(), rel=1e-9)


def test_another_metric_takes_all_pairs(table, tmp_path):
    key, space, measurer = keys_of(1)[1], multi_hot_space(table), Measurer(table, tmp_path, threads=1)
    (squared,) = measurer.bag_all([key], by(space))
    (euclidean,) = measurer.bag_all([key], by(space, "euclidean", N))
    assert 0 < euclidean["mean_intra_separation"] < squared["mean_intra_separation"] ** 0.5  # the root is concave


def test_without_a_space_only_runs_are_measured(table, tmp_path):
    feature, random = keys_of(1)[0], run_keys((), (64,), seed=0)[0]
    by_feature, by_random = Measurer(table, tmp_path, threads=1).bag_all([feature, random], by(None))
    assert "n_bags" not in by_feature
    assert by_random["n_bags_kept"] == 15
    assert np.isnan(by_random["inter_intra_ratio"])


def test_a_finished_key_is_not_measured_again(table, tmp_path, monkeypatch):
    keys = keys_of(2)
    measurer = Measurer(table, tmp_path, threads=2)
    first = list(measurer.count_all(keys[:4]))
    counted = []
    monkeypatch.setattr(
        "llp.analysis.measurer.count_groups", lambda columns, *_, **__: counted.append(columns) or 1 / 0
    )
    assert [m["n_bags"] for m in measurer.count_all(keys[:4])] == [m["n_bags"] for m in first]
    assert not counted
    with pytest.raises(ZeroDivisionError):  # other thresholds are another key
        list(measurer.count_all(keys_of(2, low=11)[:1]))
    assert len(counted) == 1


@pytest.mark.parametrize("damage", [b"", b"3", b"{}", b"[" * 100_000, "cut", "digit"])
def test_a_damaged_stored_key_is_measured_again(table, tmp_path, caplog, damage):
    keys = keys_of(1)
    measurer = Measurer(table, tmp_path, threads=1)
    first = list(measurer.count_all(keys))
    (path,) = (tmp_path / "counting").glob("B_*.json")
    whole = path.read_bytes()
    changed = {"cut": whole[: len(whole) // 2], "digit": whole.replace(b'"n_instances": 9', b'"n_instances": 8')}
    path.write_bytes(damage if isinstance(damage, bytes) else changed[damage])
    assert path.read_bytes() != whole
    np.testing.assert_equal(list(measurer.count_all(keys)), first)
    assert path.read_bytes() == whole
    [said] = caplog.messages
    assert said.startswith(f"{path} is damaged (")
    assert said.endswith("): the key is measured again")
    np.testing.assert_equal(list(measurer.count_all(keys)), first)
    assert len(caplog.messages) == 1


def test_spaces_that_do_not_fit(table, tmp_path):
    assert make_space("none", table) is None
    with pytest.raises(InputError, match="Invalid space='nowhere': expected multi_hot, none or the folder"):
        make_space("nowhere", table)
    with pytest.raises(InputError, match="save_model=true"):
        make_space(str(tmp_path), table)


def test_metric_that_scipy_does_not_know():
    with pytest.raises(InputError, match=r"Invalid metric='manhattan': expected a metric of scipy's cdist: sq"):
        check_metric("manhattan")


@pytest.fixture(scope="module")
def rows(table, tmp_path_factory):
    keys = keys_of(2)
    measurer = Measurer(table, tmp_path_factory.mktemp("store"), threads=1)
    separated = measurer.bag_all(keys, by(multi_hot_space(table)))
    counted = measurer.count_all(keys)
    rows = [
        {"grouping_key": key.name, "kind": "feature", "in_benchmark": True, **one, **two}
        for key, one, two in zip(keys, counted, separated, strict=True)
    ]
    add_clusters(rows, "binary", "p85")
    return pl.DataFrame(rows)


def test_clusters_are_of_the_benchmark(rows):
    plain = [{**row, "in_benchmark": row["grouping_key"] != "A"} for row in rows.iter_rows(named=True)]
    add_clusters(plain, "binary", "p85")
    clusters = {row["grouping_key"]: row["cluster_label_variation"] for row in plain}
    assert clusters.pop("A") is None
    assert set(clusters.values()) == {"very low", "low", "medium", "high"}


def draw_all(rows, folder):
    return save_figures({name: partial(draw, name, rows, "small") for name in FIGURES}, folder)


@pytest.mark.run  # draws for seconds
def test_figures_are_drawn(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("llp.analysis.drawing.DPI", 40)  # a quarter of the time
    from matplotlib.image import imread

    without_ratio = rows.with_columns(
        inter_intra_ratio=pl.when(pl.col("grouping_key") == "A").then(float("nan")).otherwise("inter_intra_ratio"),
        cluster_separation=pl.lit(None, pl.String),
    )
    for name, frame in (("all", rows), ("undefined", without_ratio)):
        saved = draw_all(frame, tmp_path / name)
        paths = [path.with_suffix(end) for path in saved.values() for end in (".png", ".svg")]
        names = ("bag_sizes", "label_proportions", "measures", "key_scatter")
        assert {path.name for path in paths} == {f"{name}.{end}" for name in names for end in ("png", "svg")}
        assert all(imread(path)[..., :3].std() > 0.02 for path in paths if path.suffix == ".png")  # not blank
        assert sorted(paths) == sorted((tmp_path / name).iterdir())  # no temporary file stays
    assert draw_all(rows.with_columns(n_bags_kept=0), tmp_path / "none") == {}


def test_keys_outside_the_benchmark_are_shown_where_none_is_inside(rows):
    half = rows.with_columns(in_benchmark=pl.col("grouping_key") == "B")
    assert shown_keys(half)["grouping_key"].to_list() == ["B"]
    assert len(shown_keys(rows.with_columns(in_benchmark=False))) == len(rows)


@pytest.mark.run
def test_separations_in_the_space_of_a_run_are_others_and_lie_within_their_bound(tiny, tmp_path):
    config = tiny("method=instance_bce", "model=autoint", "save_model=true", "trainer.max_epochs=1")
    run_one(config)
    table = open_table(config)
    keys, measurer = feature_keys(["C3", "C6", "C9", "C12"], 1, 5, 2500), Measurer(table, tmp_path, threads=1)
    spaces = (make_space(name, table) for name in (str(run_of(config, table).folder), "multi_hot"))
    learned, multi_hot = ([one["inter_intra_ratio"] for one in measurer.bag_all(keys, by(space))] for space in spaces)
    assert np.isfinite(learned).all()
    assert min(learned) >= 1
    assert not np.allclose(learned, multi_hot)
