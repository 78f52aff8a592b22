"""What a method is told of the train split: everything but the labels of single instances."""

import dataclasses

import numpy as np
import pytest

from llp.data.datamodule import Batching, HeldOut, LLPDataModule
from llp.data.keys import RandomKey
from llp.data.table import InstanceTable
from tests.helpers.tables import make_table


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("split") / "t"
    make_table(folder, n=900, n_numeric=2)
    table, key = InstanceTable.open(folder), RandomKey(bag_size=16, seed=0)
    batching = Batching(8, 64, False, seed=0, num_workers=0)
    return LLPDataModule(table, key, key.fold_bags(table, 0), HeldOut("holdout", 0.2, 1.0), batching)


def reachable(value):
    """Every object that the fields of dataclasses lead to."""
    yield value
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from reachable(getattr(value, field.name))


def test_it_says_what_the_train_bags_and_features_are(data):
    split = data.train_split
    assert split.bags is data.train_bags
    assert split.minibatches == len(data.train_dataloader())
    assert split.label_mean == data.train_bags.label_mean
    assert (split.features.n_rows, split.features.n_numeric) == (900, 2)
    np.testing.assert_array_equal(split.features.categorical, data.table.categorical)
    np.testing.assert_array_equal(split.features.numeric, data.table.numeric)
    assert split.features.vocab_sizes == data.table.vocab_sizes


def test_no_label_of_an_instance_can_be_reached(data):
    for value in reachable(data.train_split):
        assert not isinstance(value, InstanceTable)
        assert not hasattr(value, "label")
        if isinstance(value, np.ndarray):
            assert value.shape != data.table.label.shape or not np.array_equal(value, data.table.label)


def test_it_cannot_be_changed(data):
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.train_split.minibatches = 1
