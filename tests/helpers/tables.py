"""Small tables."""

import numpy as np

from llp.data.table import Column, InstanceTable
from llp.data.table_writer import TableWriter


def make_table(folder, *, n=500, sizes=(5, 7, 3), n_numeric=0, label_kind="binary", seed=0, facts=None):
    """A table of random codes in columns a, b, c ... and numbers x0, x1 ..."""
    rng = np.random.default_rng(seed)
    categorical = np.stack([rng.integers(0, size, n) for size in sizes], axis=1).astype(np.int32)
    numeric = rng.normal(size=(n, n_numeric)).astype(np.float32)
    real = (categorical.sum(1) + rng.normal(size=n)).astype(np.float32)
    label = real if label_kind == "real" else (real > np.median(real)).astype(np.float32)
    columns = [Column(chr(ord("a") + i), "categorical", size) for i, size in enumerate(sizes)]
    columns += [Column(f"x{i}", "numeric", None) for i in range(n_numeric)]
    with TableWriter(folder, columns, label_kind=label_kind, rows=n) as writer:
        for start in range(0, n, 200):
            part = slice(start, start + 200)
            writer.write(start, categorical[part], numeric[part], label[part])
        writer.finish(made_by={"_target_": "made", "seed": seed}, source={}, facts=facts or {})
    return InstanceTable.open(folder)


def same_content(one, other):
    """Assert that two tables hold the same rows in the same codes."""
    np.testing.assert_array_equal(one.categorical, other.categorical)
    np.testing.assert_array_equal(one.numeric, other.numeric)
    np.testing.assert_array_equal(one.label, other.label)
    assert one.vocab_sizes == other.vocab_sizes
