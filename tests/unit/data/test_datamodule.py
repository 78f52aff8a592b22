"""Minibatches: whole bags, each once an epoch, the same for any number of workers; what a method is told of them."""

import dataclasses

import numpy as np
import polars as pl
import pytest
import torch

from llp.data.batch import BagBatch, InstanceBatch
from llp.data.datamodule import Batching, HeldOut, LLPDataModule
from llp.data.keys import FeatureKey
from llp.data.minibatches import Minibatches, gather_bags
from llp.data.table import InstanceTable
from tests.helpers.tables import make_table

KEY = FeatureKey(columns=("a", "b"), low_thresh=5, high_thresh=200)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("datamodule") / "t", n=900, n_numeric=2)


def module(table, *, fold=0, seed=0, num_workers=0, instance_labels=False, protocol="paper", held_out=0.0, bags=8):
    batching = Batching(bags, 100, instance_labels, seed, num_workers)
    return LLPDataModule(table, KEY, KEY.fold_bags(table, fold), HeldOut(protocol, held_out, 1.0), batching)


def epoch(data, number=0):
    """The train minibatches of an epoch that is chosen, as by a trainer, when the loader is already open."""
    loader = data.train_dataloader()
    minibatches = iter(loader)
    loader.sampler.set_epoch(number)
    return list(minibatches)


def same(first, second):
    return len(first) == len(second) and all(
        torch.equal(a, b) for one, other in zip(first, second, strict=True) for a, b in zip(one, other, strict=True)
    )


def test_a_minibatch_has_its_proportions_and_types(table):
    batch = gather_bags(table, KEY.fold_bags(table, 0).train, np.array([4, 0, 7]))
    torch.testing.assert_close(batch.label_proportion, batch.label_sum / batch.size)
    dtypes = [torch.int32, torch.float32, torch.int64, torch.int64, torch.float32]
    assert [field.dtype for field in batch] == dtypes


def test_an_epoch_has_every_bag_once_eight_at_a_time(table):
    data = module(table)
    batches = epoch(data)
    assert all(isinstance(batch, BagBatch) for batch in batches)
    assert [len(batch.size) for batch in batches[:-1]] == [8] * (len(batches) - 1)
    assert sum(len(batch.size) for batch in batches) == len(data.train_bags) == 35
    codes = np.concatenate([batch.categorical for batch in batches])
    expected = table.categorical[data.train_bags.rows]
    np.testing.assert_array_equal(codes[np.lexsort(codes.T)], expected[np.lexsort(expected.T)])


def test_batches_are_the_same_from_worker_processes(table):
    pl.DataFrame({"x": range(10_000)}).group_by("x").len()  # polars' threads exist when the workers are made
    for options in ({}, {"instance_labels": True}):
        alone, workers = (epoch(module(table, num_workers=n, **options), 3) for n in (0, 2))
        assert same(alone, workers)


def test_instance_batches_hold_the_train_rows_once(table):
    data = module(table, instance_labels=True)
    batches = epoch(data)
    assert all(isinstance(batch, InstanceBatch) for batch in batches)
    assert {len(batch.label) for batch in batches[:-1]} == {100}
    numbers = np.concatenate([batch.numeric[:, 0] for batch in batches])
    np.testing.assert_array_equal(np.sort(numbers), np.sort(table.numeric[data.train_bags.rows, 0]))


def test_test_batches_are_the_test_rows_in_order(table):
    data = module(table)
    batches = list(data.test_dataloader())
    np.testing.assert_array_equal(np.concatenate([batch.label for batch in batches]), table.label[data.test_rows])
    assert same(batches, list(data.val_dataloader()))


@pytest.fixture(scope="module")
def data(table):
    return module(table, protocol="holdout", held_out=0.2)


def test_holdout_evaluates_on_whole_bags_that_are_not_trained_on(table, data):
    whole, held_out = module(table), data.held_out_bags
    assert (len(held_out), len(data.train_bags)) == (7, 28)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([held_out.rows, data.train_bags.rows])), np.sort(whole.train_bags.rows)
    )
    np.testing.assert_array_equal(data.test_rows, whole.test_rows)
    assert {type(batch) for batch in data.val_dataloader()} == {BagBatch}
    assert sum(len(batch.size) for batch in data.val_dataloader()) == 7
    codes = table.categorical[:, :2] @ [7, 1]
    assert not set(codes[held_out.rows]) & set(codes[data.train_bags.rows])


def test_holdout_of_an_instance_method_evaluates_on_the_held_out_rows(table):
    data = module(table, protocol="holdout", held_out=0.2, instance_labels=True)
    labels = np.concatenate([batch.label for batch in data.val_dataloader()])
    np.testing.assert_array_equal(labels, table.label[data.held_out_bags.rows])


@pytest.mark.parametrize(("n", "expected"), [(7, [[0, 1, 2], [3, 4, 5], [6]]), (0, [])])
def test_minibatches_without_a_seed_keep_the_order(n, expected):
    minibatches = Minibatches(n, 3, seed=None)
    assert [ids.tolist() for ids in minibatches] == expected
    assert len(minibatches) == len(expected)


@pytest.mark.parametrize("evaluate_every", [1.0, 0.5, 0.3, 0.01])
def test_looks_cut_the_row_of_epochs_into_equal_parts(evaluate_every):
    whole, parts = (Minibatches(31, 4, seed=5, evaluate_every=share) for share in (1.0, evaluate_every))

    def first_of(minibatches, n):
        found, look = [], 0
        while len(found) < n:
            minibatches.set_epoch(look)
            of_look = [ids.tolist() for ids in minibatches]
            assert len(of_look) == len(minibatches)
            found, look = found + of_look, look + 1
        return found[:n]

    assert len(parts) == max(1, round(8 * evaluate_every))
    assert first_of(parts, 30) == first_of(whole, 30)


def reachable(value):
    """Every object that the fields of dataclasses lead to."""
    yield value
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from reachable(getattr(value, field.name))


def test_a_train_split_says_what_the_train_bags_and_features_are(data):
    split = data.train_split
    assert split.bags is data.train_bags
    assert split.minibatches == len(data.train_dataloader())
    assert split.label_mean == data.train_bags.label_mean
    assert (split.features.n_rows, split.features.n_numeric) == (900, 2)
    np.testing.assert_array_equal(split.features.categorical, data.table.categorical)
    np.testing.assert_array_equal(split.features.numeric, data.table.numeric)
    assert split.features.vocab_sizes == data.table.vocab_sizes


def test_no_label_of_an_instance_can_be_reached_from_a_train_split_or_put_into_it(data):
    for value in reachable(data.train_split):
        assert not isinstance(value, InstanceTable)
        assert not hasattr(value, "label")
        if isinstance(value, np.ndarray):
            assert value.shape != data.table.label.shape or not np.array_equal(value, data.table.label)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.train_split.minibatches = 1
