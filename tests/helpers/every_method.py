"""Every method as it is when its training begins, on a small table: a method joins by having a YAML file."""

import functools

import numpy as np
import torch

from llp.config.composition import register
from llp.config.grouping_keys import options, read_option
from llp.config.targets import find_target
from llp.conformance.case import Case
from tests.helpers.composed import checked, composition
from tests.helpers.tables import write_table

register()

VOCAB, N_NUMERIC, N_ROWS = [6, 9, 4], 2, 3000


def make_tables(folder):
    """A small table for each kind of label."""
    rng, made = np.random.default_rng(0), {}
    sizes = {f"C{j}": size for j, size in enumerate(VOCAB)}
    for kind, label in (("binary", rng.integers(0, 2, N_ROWS)), ("real", rng.normal(size=N_ROWS) * 3)):
        codes = np.stack([rng.integers(0, size, N_ROWS) for size in VOCAB], 1)
        made[kind] = write_table(folder / kind, sizes, codes, label, rng.normal(size=(N_ROWS, N_NUMERIC)), kind)
    return made


def class_of(name):
    """The class of a method, by its YAML file."""
    return find_target("method", read_option(f"method/{name}")._target_)


TRAINED = [name for name in options("method") if class_of(name).trains]


@functools.cache
def composed(name, *overrides):
    return composition("train", f"method={name}", *overrides)


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


def case_of(name, kind, tables, overrides=(), folder=None):
    """The method on the small table."""
    return Case(checked(composed(name, *DATASETS[kind], *overrides)), tables[kind], folder)


def prepare(name, kind, tables, dtype=torch.float32, overrides=()):
    """The method as it is when training begins."""
    return case_of(name, kind, tables, overrides).ready(dtype)


def batch_of(table, sizes, label_sum):
    """The first rows of the table as bags."""
    return Case(None, table, None).batch(sizes, label_sum)
