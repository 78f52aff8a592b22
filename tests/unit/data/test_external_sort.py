"""Rows in another order, by parts that fit into memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llp.data.bag_order import write_in_order

pytestmark = pytest.mark.run  # sorts for seconds


def arrays_of(n, width=3):
    rng = np.random.default_rng(n)
    return {"a.npy": rng.integers(0, 99, (n, width), np.int32), "b.npy": rng.random((n, 0), np.float32),
            "c.npy": rng.random(n, np.float32)}  # fmt: skip


@given(n=st.integers(1, 40), size=st.integers(0, 60), buffer=st.integers(1, 2000), data=st.data())
def test_copy_holds_the_rows_in_the_order(tmp_path_factory, n, size, buffer, data):
    """Rows may be left out, or be there several times; a bucket may hold one row or all."""
    order = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=size, max_size=size)), np.int64)
    folder, arrays = tmp_path_factory.mktemp("copy"), arrays_of(n)
    write_in_order({folder / name: array for name, array in arrays.items()}, order, buffer)
    for name, array in arrays.items():
        np.testing.assert_array_equal(np.load(folder / name, mmap_mode="r"), array[order])


def test_copy_of_many_buckets_takes_little_memory(tmp_path):
    """Beside the order, twice eight bytes a row, no more than a few buffers are held."""
    tracemalloc = pytest.importorskip("tracemalloc")
    n, buffer = 60_000, 2**17
    source = tmp_path / "source.npy"
    np.save(source, arrays_of(n, width=39)["a.npy"])
    order = np.random.default_rng(0).permutation(n)
    tracemalloc.start()
    write_in_order({tmp_path / "copy.npy": np.load(source, mmap_mode="r")}, order, buffer)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < order.nbytes + 4 * buffer < source.stat().st_size / 5
    np.testing.assert_array_equal(np.load(tmp_path / "copy.npy"), np.load(source)[order])
