"""Finished runs that score rows: their models, the table that they were trained on, the mean of their scores."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from torch import Tensor

from llp.data.table import InstanceTable, LabelKind
from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.runs.load import load_method
from llp.runs.record import RunRecord

ROWS_AT_ONCE = 2**10  # whose layers stay in a processor's cache; a power of two, so all of them are summed in one order

ScoresByName = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class TrainedRuns:
    """One run, or several whose scores are averaged."""

    folders: list[Path]
    methods: list[LLPMethod]  # in evaluation mode, on the CPU
    table: InstanceTable  # what all of them were trained on

    @classmethod
    def open(cls, names: Sequence[str], data_dir: Path) -> Self:
        """Open the finished runs that folders and globs name: their weights were kept, and they share a table."""
        folders = find_runs(names)
        records = [RunRecord.read(folder / "result.json") for folder in folders]
        dataset = records[0].config.get("dataset")
        name = dataset.get("table") if isinstance(dataset, dict) else None
        if not isinstance(name, str):
            raise InputError(f"{folders[0]}/result.json names no table")
        table = InstanceTable.open(data_dir / name)
        for folder, record in zip(folders, records, strict=True):
            if record.table != records[0].table:
                raise InputError(f"{folder} was trained on another table than {folders[0]}: score with one at a time")
            if record.table != table.fingerprint:
                raise InputError(
                    f"{table.folder} is not the table that {folder} was trained on: it was prepared again, or "
                    "data_dir= names another folder"
                )
        return cls(folders, [load_method(folder, table) for folder in folders], table)

    @torch.inference_mode()
    def score(self, categorical: NDArray[np.int32], numeric: NDArray[np.float32]) -> ScoresByName:
        """`probability` and `log_odds` (n,), or `prediction`, to the last digit whatever rows lie beside."""
        n = len(categorical)
        parts = list(zip(*map(_parts, (categorical, numeric)), strict=True))
        raw = [
            torch.cat([method.log_odds(method.score(*part)) for part in parts])[:n].double().numpy()
            for method in self.methods
        ]
        return mean_scores(raw, self.table.label_kind)


def _parts(rows: NDArray[Any]) -> tuple[Tensor, ...]:
    """Parts of `ROWS_AT_ONCE`, zeros behind the last row: other numbers of rows would be summed in other orders."""
    whole = torch.from_numpy(rows).contiguous()  # codes come by column: transposed once, and not by part
    fewer = -len(whole) % ROWS_AT_ONCE
    if fewer:
        whole = torch.cat([whole, whole.new_zeros(fewer, whole.shape[1])])
    return torch.split(whole, ROWS_AT_ONCE)


def find_runs(names: Sequence[str]) -> list[Path]:
    """The folders of finished runs that a run= option names: folders, and globs of them, in order, each once."""
    found: list[Path] = []
    for name in names:
        folders = [Path(name)] if Path(name).is_dir() else sorted(Path(match) for match in glob.glob(name))
        finished = [folder for folder in folders if (folder / "result.json").is_file()]
        if not finished:
            raise InputError(f"Invalid run={name}: expected the folder of a finished run, or a glob of such folders")
        found += finished
    return list({folder.resolve(): folder for folder in found}.values())


def mean_scores(raw: Sequence[NDArray[np.float64]], label_kind: LabelKind) -> ScoresByName:
    """The mean prediction of several runs from their log-odds (binary label) or predictions (real one), (n,) each.

    >>> mean_scores([np.array([0.0]), np.array([0.0])], "binary")
    {'probability': array([0.5]), 'log_odds': array([0.])}
    """
    if label_kind == "real":
        return {"prediction": np.mean(raw, axis=0)}
    if len(raw) == 1:
        return {"probability": expit(raw[0]), "log_odds": raw[0]}
    log_p, log_q = (np.logaddexp.reduce(log_expit(sign * np.stack(raw)), axis=0) for sign in (1, -1))
    return {"probability": np.mean(expit(raw), axis=0), "log_odds": log_p - log_q}
