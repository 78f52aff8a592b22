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


def write_table(folder, sizes, codes, label, numeric=None, label_kind="binary"):
    """A table of codes in the columns of `sizes`, {name: vocabulary size}, and of numbers N0, N1 ..."""
    columns = [Column(name, "categorical", size) for name, size in sizes.items()]
    columns += [Column(f"N{j}", "numeric", None) for j in range(0 if numeric is None else numeric.shape[1])]
    with TableWriter(folder, columns, label_kind=label_kind, rows=len(label)) as writer:
        writer.write(0, codes, numeric, label)
        writer.finish(made_by={}, source={}, facts={})
    return InstanceTable.open(folder)


def same_content(one, other):
    """Assert that two tables hold the same rows in the same codes."""
    np.testing.assert_array_equal(one.categorical, other.categorical)
    np.testing.assert_array_equal(one.numeric, other.numeric)
    np.testing.assert_array_equal(one.label, other.label)
    assert one.vocab_sizes == other.vocab_sizes
