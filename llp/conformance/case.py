"""A method on a small table: what a check looks at, and how it says that something is not kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from llp.config.commands import TrainConfig
from llp.data.bags import Bags
from llp.data.batch import BagBatch
from llp.data.keys import RandomKey
from llp.data.table import InstanceTable
from llp.data.train_split import Features, TrainSplit
from llp.methods.base import LLPMethod
from llp.runs.build import Parts
from llp.runs.run import run_one
from llp.training.fitting import Plan
from llp.training.selection import monitor_of
from llp.training.stage import train_stage

# the train split whose statistics the methods take: proportions differ, so mean_map's system has a solution
TRAIN = {"binary": ([40, 60, 20, 80], [4.0, 30.0, 19.0, 20.0]), "real": ([40, 60, 20, 80], [80.0, -30.0, 9.0, 100.0])}
MINIBATCHES = 3  # of its epoch


class NotKeptError(Exception):
    """A method does not keep what a check asks of it; says by what numbers."""


class CutOffError(Exception):
    """A training ends here."""


def trained(config: TrainConfig, folder: Path, *, cut_in: int | None = None) -> dict[str, Any]:
    """Curve, measures, weights and buffers that a training ends with, after its first stage; epoch `cut_in` ends it."""
    parts = Parts.of(config.model_copy(update={"outputs_dir": folder}))
    first = parts.first_stage()
    if first is not None:
        run_one(first.config)
    method, data = parts.start(refit=False)

    def on_row(row: Any) -> None:
        if row["epoch"] == cut_in:
            raise CutOffError

    plan = Plan(
        name=config.method.name,
        trainer=config.trainer,
        hardware=config.hardware,
        monitor=monitor_of(config.protocol, method, data),
        curve=folder / "metrics.csv",
        checkpoints=folder,
        checkpoint_minutes=config.checkpoint_minutes,
        on_row=on_row,
    )
    stage = train_stage(method, data, plan)
    rows = [{name: value for name, value in row.items() if "second" not in name} for row in stage.chosen.rows]
    return {"the curve": rows, "the measures": stage.measures, **stage.method.state_dict()}


@dataclass(frozen=True)
class Case:
    """A method with its options, on a small table; trainings are written into the folder."""

    config: TrainConfig
    table: InstanceTable
    folder: Path

    def ready(self, dtype: torch.dtype = torch.float32) -> LLPMethod:
        """The method as it is when its training begins; a first stage's model has fresh weights."""
        parts, (sizes, label_sum) = Parts(self.config, self.table), TRAIN[self.table.label_kind]
        method = parts.method()
        if self.config.method.first_stage is not None:
            method.start_from(parts.model().to(dtype))
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        bags, key = Bags(np.arange(offsets[-1]), offsets, np.asarray(label_sum)), RandomKey(bag_size=50, seed=0)
        method.take_train_split(TrainSplit(Features.of(self.table), bags, key, minibatches=MINIBATCHES))
        method.on_fit_start()
        return method.to(dtype)

    def batch(self, sizes: Sequence[int], label_sum: Sequence[float], dtype: torch.dtype = torch.float32) -> BagBatch:
        """The first rows of the table as bags."""
        size = torch.tensor(sizes)
        n = int(size.sum())
        return BagBatch(
            torch.from_numpy(np.array(self.table.categorical[:n])),
            torch.from_numpy(np.array(self.table.numeric[:n])).to(dtype),
            torch.repeat_interleave(torch.arange(len(sizes)), size),
            size,
            torch.tensor(label_sum, dtype=dtype),
        )

    @cached_property
    def whole(self) -> dict[str, Any]:
        """What an uninterrupted training ends with."""
        return trained(self.config, self.folder / "whole")
