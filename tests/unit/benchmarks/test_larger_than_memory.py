"""Reading a table of which the page cache holds a part, in the order of the bags and in its own."""

import shutil
import sys

import numpy as np
import pytest

from benchmarks.larger_than_memory import Cache, measure_reading, read_from_disk
from benchmarks.measuring import compose_config
from benchmarks.scale import cost_of, lines_of
from llp.config.composition import register
from llp.datasets.preparation import prepare_table
from tests.helpers.tables import make_table

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux's kernel")


@linux
def test_emptied_cache_is_read_from_the_disk_again(tmp_path):
    table = make_table(tmp_path / "t", n=50_000, sizes=(5,) * 20)
    expected, cache = int(table.categorical.sum()), Cache(table, most=1)
    before = read_from_disk()
    assert int(table.categorical.sum()) == expected
    read = read_from_disk() - before
    if not read:
        pytest.skip("the file system has no disk")
    assert read >= 0.9 * table.categorical.nbytes
    cache.bound()
    before = read_from_disk()
    table.categorical.sum()
    assert read_from_disk() > before


@linux
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_table_larger_than_the_cache_is_read_at_half_the_warm_rate_in_the_order_of_its_bags(tmp_path):
    register()
    config = compose_config("dataset=synthetic", "dataset.rows=1000000", "grouping_key=random_256",
                            "hardware.accelerator=cpu", f"data_dir={tmp_path}")  # fmt: skip
    prepare_table(config.dataset, tmp_path)
    rates = {line.what: line.value for line in measure_reading(config, larger=True)}
    assert rates["training, bag order with a small cache / warm table"] >= 0.5
    assert rates["reading, bag order with a small cache / warm table"] >= 0.2  # 0.5 on a quiet machine
    shutil.rmtree(tmp_path)


def test_lines_of_a_cost_are_rates():
    cost = cost_of(lambda: np.ones(10**6).sum())
    rate, memory = lines_of("x", cost, 10**6)[1::2]
    assert rate.value == 10**6 / cost.seconds
    assert memory.value == cost.peak / 2**30
