"""A copy of a table in the order of a fold's bags: the same minibatches, written once, whole, in bounded room."""

import os
import shutil
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from llp.data import bag_order
from llp.data.bag_order import BagOrder, NoRoomError, copies_of, in_table, write_in_order
from llp.data.datamodule import Batching, HeldOut, LLPDataModule
from llp.data.keys import FeatureKey, FixedKey, RandomKey
from llp.data.read_ahead import MINIBATCHES, ReadAhead, runs
from llp.files import locked
from tests.helpers.tables import make_table

KEYS = [
    FeatureKey(columns=("a", "b"), low_thresh=5, high_thresh=200),
    RandomKey(bag_size=16, seed=0),
    FixedKey(columns=("a",), bag_size=16, seed=0),
]


@pytest.fixture
def table(tmp_path):
    return make_table(tmp_path / "t", n=900, n_numeric=2)


def ordered(table, key=KEYS[0], fold=0):
    return BagOrder.of(table, key.fold_bags(table, fold), f"{key.name}_{fold}")


def copies(table):
    return sorted(path.name for path in copies_of(table).iterdir() if path.is_dir())


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.kind)
def test_minibatches_are_those_of_the_table(table, key):
    options = HeldOut("holdout", 0.2, 1.0), Batching(3, 10, False, seed=0, num_workers=0)
    fold_bags, order = key.fold_bags(table, 1), ordered(table, key, 1)
    plain = LLPDataModule(table, key, fold_bags, *options)
    copied = LLPDataModule(table, key, fold_bags, *options, bag_order=order)
    for name in ("train_dataloader", "val_dataloader", "test_dataloader"):
        first, second = (list(getattr(one, name)()) for one in (plain, copied))
        assert len(first) == len(second) > 0
        for one, other in zip(first, second, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True)), name
    one, other = plain.train_split, copied.train_split
    np.testing.assert_array_equal(one.bags.rows, other.bags.rows)
    np.testing.assert_array_equal(one.features.categorical, other.features.categorical)


def test_rows_of_a_bag_lie_one_after_another(table):
    order = ordered(table)
    assert (np.diff(order.fold_bags.train.rows) == 1).all()
    fold_bags = KEYS[0].fold_bags(table, 0)
    np.testing.assert_array_equal(in_table(order.fold_bags.train, order.order).rows, fold_bags.train.rows)
    np.testing.assert_array_equal(order.order[order.fold_bags.test_rows], fold_bags.test_rows)


def test_bags_that_measure_a_run_are_in_the_copy(table):
    fold_bags = KEYS[0].fold_bags(table, 0)
    empty = np.empty(0, np.int64)
    halves = fold_bags.train.select(np.arange(5)), fold_bags.train.select(np.arange(4, 9))  # one bag is in both
    order = BagOrder.of(table, replace(fold_bags, train=halves[0], test_rows=empty, test_bags=halves[1]), "bags")
    for bags, copied in zip(halves, (order.fold_bags.train, order.fold_bags.test_bags), strict=True):
        np.testing.assert_array_equal(order.table.categorical[copied.rows], table.categorical[bags.rows])
        np.testing.assert_array_equal(copied.label_sum, bags.label_sum)


def test_copy_is_written_once(table, monkeypatch):
    made = ordered(table)
    monkeypatch.setattr(bag_order, "_write", None)
    np.testing.assert_array_equal(ordered(table).order, made.order)
    with pytest.raises(TypeError):  # another fold is another copy
        ordered(table, fold=1)


def test_copy_of_another_table_in_this_place_goes(table, tmp_path):
    ordered(table)
    shutil.rmtree(table.folder)
    anew = make_table(tmp_path / "t", n=900, n_numeric=2, seed=1)
    order = ordered(anew)
    assert [name.split("_")[0] for name in copies(anew)] == [anew.fingerprint]
    np.testing.assert_array_equal(order.table.label, anew.label[order.order])


@pytest.mark.parametrize("name", ["categorical.npy", "numeric.npy", "label.npy", "order.npy"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damaged_copy_is_written_again(table, name, damage):
    place = ordered(table).table.folder
    if damage == "gone":
        (place / name).unlink()
    else:
        os.truncate(place / name, (place / name).stat().st_size - 1)
    order = ordered(table)
    np.testing.assert_array_equal(order.table.categorical, table.categorical[order.order])


def raising(error):
    """A function that raises."""

    def function(*_):
        raise error

    return function


def test_what_a_killed_process_was_writing_goes(table, monkeypatch):
    left = copies_of(table) / ".half.1.tmp"
    left.mkdir(parents=True)
    (left / "label.npy").touch()
    monkeypatch.setattr(bag_order.np, "save", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ordered(table)
    assert copies(table) == []
    monkeypatch.undo()
    ordered(table)
    assert len(copies(table)) == 1


def disk_with(monkeypatch, free):
    usage = shutil.disk_usage(".")
    monkeypatch.setattr(bag_order.shutil, "disk_usage", lambda path: usage._replace(free=free))


def test_copies_take_half_of_the_room_and_the_longest_unused_goes_first(table, monkeypatch):
    first, second = ordered(table), ordered(table, fold=1)
    size = sum(path.stat().st_size for path in second.table.folder.iterdir())
    os.utime(second.table.folder, (0, 0))
    assert ordered(table).table.folder == first.table.folder  # used again
    disk_with(monkeypatch, 3 * size)  # beside two copies: room for two
    third = ordered(table, fold=2)
    assert copies(table) == sorted(one.table.folder.name for one in (first, third))
    np.testing.assert_array_equal(second.table.label, table.label[second.order])  # who has it open reads on


def test_no_room_is_told_before_anything_is_written(table, monkeypatch):
    disk_with(monkeypatch, 1000)
    with pytest.raises(NoRoomError, match=r"rows in bag order need 0\.0 GB, .*hardware\.row_order=table") as told:
        ordered(table)
    assert "\n" not in str(told.value)
    assert copies(table) == []


def test_full_disk_names_the_place(table, monkeypatch):
    monkeypatch.setattr(bag_order, "write_in_order", raising(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="make room there") as told:
        ordered(table)
    assert str(copies_of(table)) in str(told.value.filename)
    assert copies(table) == []


def test_copy_that_another_one_writes_is_waited_for(table, monkeypatch, caplog):
    copies_of(table).mkdir()
    with locked(copies_of(table) / ".lock", "") as _:
        monkeypatch.setattr("llp.signals.exit_if_received", raising(InterruptedError))
        with pytest.raises(InterruptedError):
            ordered(table)
    assert "waiting for it" in caplog.text


def test_reading_ahead_changes_no_minibatch_and_asks_for_its_rows(table, monkeypatch):
    order = ordered(table)
    asked = []
    monkeypatch.setattr("os.posix_fadvise", lambda file, start, size, advice: asked.append((start, size)))
    bags, minibatches = order.fold_bags.train, [np.array([i, 0]) for i in range(2, MINIBATCHES + 5)]
    ahead = iter(ReadAhead(minibatches, order.table, bags))
    assert list(next(ahead)) == [2, 0]
    assert len(asked) == 2 * 2 * (MINIBATCHES + 1)  # bags of a minibatch, arrays of features
    width, offset = order.table.categorical.strides[0], order.table.categorical.offset
    start, stop = bags.offsets[2:4]
    assert asked[0] == (offset + start * width, (stop - start) * width)
    assert [list(ids) for ids in ahead] == [list(ids) for ids in minibatches[1:]]
    rows = order.fold_bags.test_rows
    assert runs(rows, np.arange(3, 9)) == [(rows[3], 6)]


def test_as_many_rows_in_another_order_are_another_copy(table):
    """Two seeds of one key: the same name, as many rows."""
    for seed in (0, 1):
        key = KEYS[1].model_copy(update={"seed": seed})
        order = ordered(table, key)
        rows = key.fold_bags(table, 0).train.rows
        np.testing.assert_array_equal(in_table(order.fold_bags.train, order.order).rows, rows)
        np.testing.assert_array_equal(order.table.label[: len(rows)], table.label[rows])
    assert len(copies(table)) == 2


def arrays_of(n, width=3):
    rng = np.random.default_rng(n)
    return {"a.npy": rng.integers(0, 99, (n, width), np.int32), "b.npy": rng.random((n, 0), np.float32),
            "c.npy": rng.random(n, np.float32)}  # fmt: skip


@pytest.mark.run
@given(n=st.integers(1, 40), size=st.integers(0, 60), buffer=st.integers(1, 2000), data=st.data())
def test_copy_holds_the_rows_in_the_order(tmp_path_factory, n, size, buffer, data):
    """Rows may be left out, or be there several times; a bucket may hold one row or all."""
    order = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=size, max_size=size)), np.int64)
    folder, arrays = tmp_path_factory.mktemp("copy"), arrays_of(n)
    write_in_order({folder / name: array for name, array in arrays.items()}, order, buffer)
    for name, array in arrays.items():
        np.testing.assert_array_equal(np.load(folder / name, mmap_mode="r"), array[order])


@pytest.mark.run
def test_copy_of_many_buckets_takes_little_memory(tmp_path):
    """Beside the order, twice eight bytes a row, no more than a few buffers are held."""
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
