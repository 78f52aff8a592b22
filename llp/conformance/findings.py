"""Every check of a method that fits what it declares, with every kind of label that it is for."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.config.composition import compose, register
from llp.config.own_code import placed_errors
from llp.config.targets import find_target
from llp.conformance import of_minibatches, of_trainings
from llp.conformance.case import Case, NotKeptError
from llp.errors import first_line
from llp.methods.base import LLPMethod
from llp.runs.build import Parts

DATASETS = {"binary": "dataset=synthetic", "real": "dataset=synthetic_sscl"}
SMALL = (
    *("dataset.rows=3000", "dataset.vocab_fraction=1e-4", "grouping_key=random_64", "protocol=holdout"),
    *("trainer.max_epochs=3", "trainer.patience=3", "checkpoint_minutes=0", "hardware.accelerator=cpu"),
)
REFERENCE = {"binary": "dllp_bce", "real": "dllp_mse"}


class Finding(NamedTuple):
    """The outcome of one check with one kind of label: `said` holds what was measured, or what is wrong."""

    label_kind: str
    check: str
    kept: bool
    said: str


def cost(case: Case) -> str:
    """CPU time of forward, loss and backward of a minibatch, relative to the plainest method's; refuses none."""
    name = REFERENCE[case.table.label_kind]
    other = Case(_composed(case.table.label_kind, f"method={name}"), case.table, case.folder)
    batch, seconds = case.batch([250] * 8, [60.0] * 8), dict[str, float]()
    steps = {"own": case.ready(), "other": other.ready()}
    for _ in range(12):  # they take turns; the shortest one was disturbed least
        for which, method in steps.items():
            begin = time.process_time()
            method.minibatch_loss(batch).backward()  # type: ignore[no-untyped-call]
            method.zero_grad()
            seconds[which] = min(time.process_time() - begin, seconds.get(which, 1e9))
    ratio = seconds["own"] / seconds["other"]
    return f"a step on 8 bags of 250 takes {ratio:.2g} times {name}'s CPU time ({1e3 * seconds['own']:.1f} ms)"


def checks_of(method: type[LLPMethod]) -> list[Callable[[Case], str]]:
    """The checks of a method by what it declares: all of one that learns from bags."""
    of_bags, reads_labels = method.learns_from_bags(), method.sees_instance_labels and not method.own_labels
    of_training = [of_trainings.repeat, of_trainings.resume, of_trainings.labels]
    asked = [True, method.trains, not reads_labels]
    return [
        *(of_minibatches.CHECKS if of_bags else ()),
        *(check for check, wanted in zip(of_training, asked, strict=True) if wanted),
        *([cost] if of_bags else ()),
    ]


def findings(method: str, *overrides: str) -> Iterator[Finding]:
    """Check a method with every kind of label that it is for, one check after another.

    Parameters
    ----------
    method : str
        Its name on the command line.
    *overrides : str
        Options, as `llp train` takes them.

    Yields
    ------
    Finding
        What was measured, or what is wrong.

    Raises
    ------
    InputError
        There is no such method, or an option is wrong.
    """
    register()
    torch.set_num_threads(1)
    words = [f"method={method}", *overrides]
    named = compose("train", words).method.get("labels") or ()
    for kind in [kind for kind in DATASETS if kind in named] or ["binary"]:
        with tempfile.TemporaryDirectory() as place:
            config = _composed(kind, *words, f"data_dir={place}/data", f"outputs_dir={place}/outputs")
            case = Case(config, Parts.of(config).table, Path(place))
            target: Any = find_target("method", config.method.target)
            for check in checks_of(target):
                kept, said = _outcome(case, check)
                yield Finding(kind, check.__name__, kept, said)


def _composed(kind: str, *words: str) -> TrainConfig:
    return check_config(compose("train", [*words, DATASETS[kind], *SMALL]), TrainConfig)


def _outcome(case: Case, check: Callable[[Case], str]) -> tuple[bool, str]:
    try:
        with placed_errors(case.config.targets, debug=case.config.debug):
            return True, check(case)
    except NotKeptError as error:
        return False, str(error)
    except Exception as error:  # own code raises anything
        if case.config.debug:
            raise
        return False, first_line(error)
