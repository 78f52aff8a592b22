"""Every method as it is when its training begins, on a small table: a method joins by having a YAML file."""

import functools

import numpy as np
import torch
from hydra import compose, initialize_config_dir

from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, options, read_option
from llp.config.options import find_target
from llp.data.bags import Bags
from llp.data.batch import BagBatch
from llp.data.keys import RandomKey
from llp.data.table import Column, InstanceTable
from llp.data.table_writer import TableWriter
from llp.data.train_split import Features, TrainSplit
from tests.helpers.composed import build_method, build_model

register()

VOCAB, N_NUMERIC, N_ROWS = [6, 9, 4], 2, 3000


def make_tables(folder):
    """A small table for each kind of label."""
    rng, made = np.random.default_rng(0), {}
    columns = [Column(f"C{j}", "categorical", size) for j, size in enumerate(VOCAB)]
    columns += [Column(f"N{j}", "numeric", None) for j in range(N_NUMERIC)]
    for kind, label in (("binary", rng.integers(0, 2, N_ROWS)), ("real", rng.normal(size=N_ROWS) * 3)):
        with TableWriter(folder / kind, columns, label_kind=kind, rows=N_ROWS) as writer:
            codes = np.stack([rng.integers(0, size, N_ROWS) for size in VOCAB], 1)
            writer.write(0, codes, rng.normal(size=(N_ROWS, N_NUMERIC)), label)
            writer.finish(made_by={}, source={}, facts={})
        made[kind] = InstanceTable.open(folder / kind)
    return made


def class_of(name):
    """The class of a method, by its YAML file."""
    return find_target("method", read_option(f"method/{name}")._target_)


TRAINED = [name for name in options("method") if class_of(name).trains]


@functools.cache
def composed(name, *overrides):
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        return compose("train", [f"method={name}", *overrides])


def learning_from_bags():
    """(name, kind): every method that learns from bags, with every kind of label that it is for."""
    found = []
    for name in options("method"):
        method = read_option(f"method/{name}")
        if class_of(name).learns_from_bags():
            found += [(name, kind) for kind in method.labels]
    return found


# for options whose values follow from the kind of label
DATASETS = {"binary": ("dataset=synthetic",), "real": ("dataset=synthetic_sscl", "model=mlp")}

# the train split whose statistics the methods take: proportions differ, so mean_map's system has a solution
TRAIN = {"binary": ([40, 60, 20, 80], [4.0, 30.0, 19.0, 20.0]), "real": ([40, 60, 20, 80], [80.0, -30.0, 9.0, 100.0])}


MINIBATCHES = 3  # of an epoch


def prepare(name, kind, tables, dtype=torch.float32, overrides=()):
    """The method as it is when training begins."""
    config, table = composed(name, *DATASETS[kind], *overrides), tables[kind]
    sizes, label_sum = TRAIN[kind]
    method = build_method(config, table)
    if "first_stage" in config.method:
        method.start_from(build_model(config, table).to(dtype))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    bags = Bags(np.arange(offsets[-1]), offsets, np.asarray(label_sum, np.float64))
    key = RandomKey(bag_size=50, seed=0)
    method.take_train_split(TrainSplit(Features.of(table), bags, key, minibatches=MINIBATCHES))
    method.on_fit_start()
    return method.to(dtype)


def batch_of(table, sizes, label_sum, order=None):
    """The first rows of the table as bags; `order` permutes the instances."""
    size = torch.tensor(sizes)
    rows = np.arange(int(size.sum())) if order is None else np.asarray(order)
    return BagBatch(
        torch.from_numpy(np.asarray(table.categorical[rows])), torch.from_numpy(np.asarray(table.numeric[rows])),
        torch.repeat_interleave(torch.arange(len(sizes)), size), size, torch.tensor(label_sum, dtype=torch.float32),
    )  # fmt: skip
