"""Checks of a whole training: each gives what it measured, or raises `NotKeptError`."""

import shutil
from contextlib import suppress
from typing import Any

import numpy as np
from torch import Tensor

from llp.conformance.case import Case, CutOffError, NotKeptError, trained


def compare(one: dict[str, Any], other: dict[str, Any], what: str) -> None:
    """Raise where two trainings did not end the same, to the bit."""
    for name, value in one.items():
        if not isinstance(value, Tensor):
            if repr(value) != repr(other[name]):
                raise NotKeptError(f"{what}: {name} differs")
        elif value.numpy().tobytes() != other[name].numpy().tobytes():
            by = float((value.double() - other[name].double()).abs().max())
            raise NotKeptError(f"{what}: {name} differs, by up to {by:.2g}")


def repeat(case: Case) -> str:
    """The same seed ends in the same weights."""
    compare(case.whole, trained(case.config, case.folder / "again"), "trained again")
    return "trained again with the same seed it ends the same, to the bit"


def resume(case: Case) -> str:
    """A training that is cut off and resumes ends as one that was not."""
    place = case.folder / "cut"
    with suppress(CutOffError):
        trained(case.config, place, cut_in=1)
    compare(case.whole, trained(case.config, place), "cut off in its second epoch and resumed")
    return "cut off in its second epoch and resumed it ends the same, to the bit"


def labels(case: Case) -> str:
    """No instance label is read: shuffled inside the train bags, whose sums stay, they change nothing to the bit."""
    folder = case.folder / "other labels"
    copy = folder / case.table.folder.name
    shutil.copytree(case.table.folder, copy)
    bags = case.config.grouping_key.fold_bags(case.table, case.config.fold, case.config.repeat).train
    bag = np.repeat(np.arange(len(bags)), bags.sizes)
    order = np.lexsort((np.random.default_rng(0).random(len(bag)), bag))
    label = np.array(case.table.label)
    label[bags.rows] = label[bags.rows[order]]
    np.save(copy / "label.npy", label)
    other = trained(case.config.model_copy(update={"data_dir": folder}), folder)
    compare(case.whole, other, "labels shuffled inside the train bags")
    return "labels shuffled inside the train bags end in the same weights and measures, to the bit"
