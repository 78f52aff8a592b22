"""How fast the hot path is: `python -m benchmarks.speed` (`make bench`).

Prints, in one run: building the bags of one pair and fold, the data module alone with the memory that both take, the
training step of every method and of three optimizers through the real run, beside the ways of others, each in a process
of its own (`benchmarks/plain_torch.py`), and the limit, evaluation, a whole small run, and what the whole benchmark
would take at these rates. The table is `dataset=synthetic` with the full published vocabulary. The
same numbers go to `<outputs_dir>/bench/speed.json`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import plain_torch
from benchmarks.gradients import learning_from_bags
from benchmarks.measuring import (
    Measured,
    anonymous_bytes,
    best_seconds,
    compose_config,
    in_fresh_process,
    peak_anonymous,
    show_measured,
)
from benchmarks.projection import Rates, project
from benchmarks.training import BAG_SIZE, PAPER, full_vocabulary, instances_per_second
from llp.config.commands import TrainConfig
from llp.config.composition import register
from llp.data.batch import BagBatch
from llp.data.table import InstanceTable
from llp.datasets.preparation import prepare_table
from llp.metrics.evaluation import epoch_measures
from llp.metrics.ranking import exact_auc
from llp.runs.build import Parts, open_table
from llp.runs.run import run_one
from llp.training.evaluation import score_test_rows

ROWS = 2_000_000
SHORT_ROWS = 60_000  # 24 steps an epoch: dense Adam needs most of a second for one
BATCH = 8 * BAG_SIZE  # instances of a minibatch
OUR_SETTINGS = {"OMP_WAIT_POLICY": "PASSIVE"}  # of `llp.machine.prefer_speed`


def measure_data(config: TrainConfig, table: InstanceTable) -> list[Measured]:
    """Bag building and the data module alone, with the memory that they take above what was there before."""
    before = anonymous_bytes()
    with peak_anonymous() as peak:
        bags_seconds = best_seconds(lambda: config.grouping_key.fold_bags(table, 0))
        data = Parts(config, table).data(instance_labels=False)
        table.categorical.sum()  # a first reading warms the page cache

        def epoch() -> None:
            for _ in data.train_dataloader():
                pass

        rate = len(data.train_bags.rows) / best_seconds(epoch)
    name = f"{config.grouping_key.name} fold 0, {table.n_rows:,} rows"
    return [
        Measured(f"bags of {name}", bags_seconds, "s", "< 0.6"),
        Measured("data module alone", rate / 1e6, "million instances/s", "≥ 4"),
        Measured("anonymous memory of both", (peak[0] - before) / 2**30, "GiB", "< 1"),
    ]


def measure_auc() -> list[Measured]:
    """Exact AUC of 9 million scores."""
    rng = np.random.default_rng(0)
    scores, labels = rng.random(9_000_000, np.float32), (rng.random(9_000_000) < 0.25).astype(np.float32)
    with peak_anonymous() as peak:
        before = anonymous_bytes()
        seconds = best_seconds(lambda: exact_auc(scores, labels), 3)
    return [
        Measured("exact AUC of 9 million scores", seconds, "s"),
        Measured("its memory above the scores", (peak[0] - before) / 2**30, "GiB", "< 1"),
    ]


OPTIMIZERS = {
    # an epoch of ours lasts a third of a second, in which other work of the machine counts: the best of more of them
    "exact_adam": ["optimizer=exact_adam", "trainer.max_epochs=12", "trainer.patience=12"],
    "dense Adam, fused": ["optimizer=adam"],
    "dense Adam, foreach": ["optimizer=adam", "optimizer.fused=false", "+optimizer.foreach=true"],
}


def measure_optimizers(outputs_dir: Path) -> tuple[list[Measured], dict[int, float]]:
    """Training steps a second of dllp_bce with each optimizer, and by number of threads with ours."""
    short = full_vocabulary(SHORT_ROWS, outputs_dir, "trainer.max_epochs=3", "trainer.threads=2")
    rates = {name: instances_per_second(*short, *overrides) / BATCH for name, overrides in OPTIMIZERS.items()}
    ours = [*short, *OPTIMIZERS["exact_adam"], "trainer.threads=1"]
    two, one = rates["exact_adam"], instances_per_second(*ours) / BATCH
    lines = [
        *(Measured(f"dllp_bce, full vocabulary, {name}", rate, "steps/s") for name, rate in rates.items()),
        Measured("exact_adam on one thread", one, "steps/s"),
        Measured("exact_adam, two threads / one", two / one, "times", "≥ 1.6"),
        Measured("exact_adam / fused", two / rates["dense Adam, fused"], "times", "≥ 8"),
        Measured("exact_adam / foreach", two / rates["dense Adam, foreach"], "times", "≥ 20"),
    ]
    return lines, {1: one, 2: two}


def alternative(given: Path, what: str, threads: int, **settings: str) -> dict[str, float] | None:
    """What `benchmarks/plain_torch.py` prints in a process of its own, without our settings; None where it says why."""
    env = {name: value for name, value in os.environ.items() if name not in OUR_SETTINGS} | settings
    words = [sys.executable, plain_torch.__file__, str(given), what, str(threads)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=env)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "missing" in answer:
        print(f"{what} is left out: {answer['missing']}")
        return None
    return answer


ALTERNATIVES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("adam", "plain torch, fused Adam", {}),
    ("adam", "the same with our settings", OUR_SETTINGS),
    ("sparse_adam", "plain torch, SparseAdam (another algorithm)", {}),
    ("fbgemm", "fbgemm, row-wise Adagrad (another algorithm)", {}),
    ("limit", "the limit: its rows' weights and moments touched once", {}),
)
GOALS = {("adam", 2): "≤ 0.1", ("fbgemm", 1): "≤ 1.5"}


def measure_alternatives(outputs_dir: Path, ours: Mapping[int, float]) -> list[Measured]:
    """Our step beside others', each in a process of its own as its users start it, and beside its limit."""
    lines = [Measured(f"our step, {n} thread(s)", 1000 / rate, "ms") for n, rate in ours.items()]
    given = outputs_dir / "minibatches.npz"
    _write_minibatches(given, outputs_dir)
    for what, name, settings in ALTERNATIVES:
        for threads in (1,) if what == "limit" else (1, 2):
            if answer := alternative(given, what, threads, **settings):
                if what == "adam" and threads == 2 and not settings:
                    memory = answer["anonymous"]
                lines += [
                    Measured(f"{name}, {threads} thread(s)", 1000 / answer["rate"], "ms"),
                    Measured("our step / that", answer["rate"] / ours[threads], "times", GOALS.get((what, threads))),
                ]
    peak = in_fresh_process(peak_of, _our_run, outputs_dir)
    return [
        *lines,
        Measured("peak anonymous memory of our run", peak / 2**30, "GiB"),
        Measured("the same / plain torch's", peak / memory, "times", "≤ 1"),
    ]


def peak_of(call: Callable[[Path], Any], outputs_dir: Path) -> int:
    """Peak anonymous bytes of this process while it makes the call."""
    register()
    with peak_anonymous() as peak:
        call(outputs_dir)
    return peak[0]


def _our_run(outputs_dir: Path) -> None:
    run_one(compose_config(*full_vocabulary(SHORT_ROWS, outputs_dir, "trainer.max_epochs=2"), "force=true"))


def _write_minibatches(path: Path, outputs_dir: Path) -> None:
    config = compose_config(*full_vocabulary(SHORT_ROWS, outputs_dir))
    parts = Parts(config, open_table(config.dataset, config.data_dir))
    offset = np.cumsum([0, *parts.table.vocab_sizes]).astype(np.int32)
    loader: Iterable[Any] = parts.data(instance_labels=False).train_dataloader()
    batches: list[BagBatch] = [one for one in loader if len(one.segment) == BATCH]
    np.savez(
        path,
        n_rows=offset[-1],
        rows=np.stack([one.categorical.numpy() + offset[:-1] for one in batches]),
        segment=np.stack([one.segment.numpy() for one in batches]),
        size=np.stack([one.size.numpy() for one in batches]),
        proportion=np.stack([one.label_proportion.numpy() for one in batches]),
    )


def measure_methods(outputs_dir: Path) -> tuple[list[Measured], float]:
    """Training steps a second of every method that learns from bags, and the rate of the paper's together."""
    short = full_vocabulary(SHORT_ROWS, outputs_dir, "trainer.max_epochs=3", "trainer.threads=2")
    rates = {name: instances_per_second(*short, f"method={name}") for name in learning_from_bags()}
    lines = [Measured(f"{name}, full vocabulary", rate / BATCH, "steps/s") for name, rate in rates.items()]
    return lines, float(np.mean([rates[name] for name in PAPER]))


def measure_evaluation(table: InstanceTable, outputs_dir: Path) -> tuple[list[Measured], float]:
    """Scoring of the test rows after some steps, as in a run, beside plain torch's, and the measures of an epoch."""
    config = compose_config("dataset=synthetic", f"dataset.rows={table.n_rows}")
    method, data = Parts(config, table).method(), Parts(config, table).data(instance_labels=False)
    data.keep_on(method.device)  # as a run does
    method.on_train_epoch_start()
    optimizer = method.configure_optimizers()
    for batch in islice(next(iter(data.train_dataloader())), 8):
        method.take_step(optimizer, batch)

    def evaluate() -> None:
        epoch_measures(*score_test_rows(method, data), "binary")

    rate = len(data.test_rows) / best_seconds(evaluate, 3)
    given = outputs_dir / "test_rows.npz"
    offset = np.cumsum([0, *table.vocab_sizes]).astype(np.int32)
    categorical = str((table.folder / "categorical.npy").absolute())
    np.savez(given, n_rows=offset[-1], categorical=categorical, test=data.test_rows, offset=offset[:-1])
    lines = [Measured("scoring and measuring test rows", rate / 1e6, "million instances/s")]
    for threads in (1, 2):
        torch.set_num_threads(threads)
        ours = len(data.test_rows) / best_seconds(lambda: score_test_rows(method, data), 3)
        theirs = alternative(given, "scoring", threads)
        assert theirs is not None
        lines += [
            Measured(f"scoring them, {threads} thread(s)", ours / 1e6, "million instances/s"),
            Measured("plain torch, gathering as it goes", theirs["rate"] / 1e6, "million instances/s"),
            Measured("ours / plain torch's", ours / theirs["rate"], "times", "≥ 1"),
        ]
    return lines, rate


def measure_run(outputs_dir: Path) -> list[Measured]:
    """A whole small run: flights, dllp_bce, one fold, to its early stop."""
    config = compose_config("dataset=flights", "method=dllp_bce", f"outputs_dir={outputs_dir}", "force=true")
    record = run_one(config)
    stage = record.stages[-1]
    return [
        Measured(f"flights month_dest dllp_bce, {stage.epochs} epochs", record.seconds, "s"),
        Measured("its training", (stage.instances_per_second or 0.0) / 1e6, "million instances/s"),
    ]


def measure_small_vocabulary(outputs_dir: Path) -> list[Measured]:
    """Training on flights, 6,478 codes, by ours and by torch's fused Adam: the best epoch of three runs each."""
    short = ["dataset=flights", "method=dllp_bce", f"outputs_dir={outputs_dir}", "trainer.max_epochs=3"]
    ours, fused = (
        max(instances_per_second(*short, f"optimizer={name}") for _ in range(3)) for name in ("exact_adam", "adam")
    )
    return [Measured("flights, exact_adam / fused", ours / fused, "times", "≥ 1")]


def main() -> None:
    """Measure and show."""
    register()
    torch.set_num_threads(2)
    config = compose_config("dataset=synthetic", f"dataset.rows={ROWS}")
    table = InstanceTable.open(prepare_table(config.dataset, config.data_dir))
    out = Path(config.outputs_dir) / "bench"
    measured = [*measure_data(config, table), *measure_auc()]
    optimizer_lines, ours = measure_optimizers(out)
    torch.set_num_threads(2)
    measured += [*optimizer_lines, *measure_alternatives(out, ours)]
    steps, training = measure_methods(out)
    evaluation_lines, evaluation = measure_evaluation(table, out)
    measured += [
        *steps,
        *evaluation_lines,
        *measure_run(out),
        *measure_small_vocabulary(out),
        *project(Rates(training, evaluation)),
    ]
    show_measured(measured, out / "speed.json")


if __name__ == "__main__":
    main()
