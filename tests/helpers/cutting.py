"""Runs that are cut off at a chosen moment, and what of a folder does not depend on the clock."""

import csv
import hashlib
import json
import random
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from llp.methods.base import LLPMethod
from llp.training import resume
from llp.training.resume import ResumeCheckpoint

OF_THE_ATTEMPT = ("attempt", "started", "seconds", "device", "versions", "git_commit", "stages")


class CutOffError(Exception):
    """The run ends here."""


@contextmanager
def moments(cut=None):
    """Count a training's moments: one before each minibatch, one after what follows each epoch; end it at one of them.

    Gives the list of what the moments are.
    """
    seen = []

    def moment(what):
        seen.append(what)
        if len(seen) - 1 == cut:
            raise CutOffError

    with pytest.MonkeyPatch.context() as patch:
        loss_of, epoch_end = LLPMethod.minibatch_loss, ResumeCheckpoint.on_train_epoch_end

        def minibatch_loss(self, batch):
            moment("minibatch")
            return loss_of(self, batch)

        def on_train_epoch_end(self, trainer, pl_module):
            epoch_end(self, trainer, pl_module)
            moment("epoch")

        patch.setattr(LLPMethod, "minibatch_loss", minibatch_loss)
        patch.setattr(ResumeCheckpoint, "on_train_epoch_end", on_train_epoch_end)
        yield seen


@contextmanager
def checkpoints_at_random_epochs(seed):
    """Let the clock by which checkpoints are written jump, so that with `checkpoint_minutes=1` half the epochs do."""
    draw, now = random.Random(seed), [0.0]

    def monotonic():
        now[0] += draw.uniform(0, 120)
        return now[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resume, "time", SimpleNamespace(monotonic=monotonic))
        yield


def untimed_record(record):
    """A result record, as a dict, without times, attempts, and which stages an earlier attempt had finished."""
    kept = {name: value for name, value in record.items() if name not in OF_THE_ATTEMPT}
    return kept | {"epochs": [(s["method"], s["epochs"], s["early_stopped"]) for s in record["stages"]]}


def untimed_curve(path):
    """The text of a curve without its times."""
    with path.open() as file:
        return [{name: text for name, text in row.items() if "second" not in name} for row in csv.DictReader(file)]


def untimed_curves(outputs_dir):
    """Every curve under some outputs, by path."""
    return {str(path.relative_to(outputs_dir)): untimed_curve(path) for path in outputs_dir.rglob("metrics.csv")}


def untimed_records(command):
    """Every record of a command's outputs, by path."""
    return {path: untimed_record(record) for path, record in command.results().items()}


def content(path):
    """What a file holds: a record and a curve without their times, weights by name, any other file to the byte."""
    if path.name == "result.json":
        return untimed_record(json.loads(path.read_text()))
    if path.name == "metrics.csv":
        return untimed_curve(path)
    if path.suffix == ".pt":  # the archive's inner folder is named after the process
        return {name: digest(tensor.numpy().tobytes()) for name, tensor in torch.load(path, weights_only=True).items()}
    if path.parent.name == "grids":  # how it was started is the launcher's
        return {name: value for name, value in json.loads(path.read_text()).items() if name != "started"}
    return digest(path.read_bytes())


def digest(data):
    return hashlib.sha256(data).hexdigest()


def contents(folder):
    """What each file of a folder holds, by path; logs and the counts of attempts are left out."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = {str(path.relative_to(folder)): path for path in files if path.name not in ("attempt", "run.log")}
    return {name: content(path) for name, path in named.items() if not name.startswith("multirun/")}
