"""How fast the hot path is: `python -m benchmarks.speed` (`make bench`).

Prints, in one run: building the bags of one pair and fold, the data module alone with the memory that both take, the
training step of every method and of three optimizers through the real run, the same by a loop of plain torch
(`benchmarks.plain_torch`) and beside the time in which its bytes can be copied, evaluation, a whole small run, and what
the whole benchmark would take at these rates. The table is `dataset=synthetic` with the full published vocabulary. The
same numbers go to `<outputs_dir>/bench/speed.json`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import plain_torch
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
from llp.config.grouping_keys import options
from llp.data.batch import BagBatch
from llp.data.table import InstanceTable
from llp.datasets.preparation import prepare_table
from llp.metrics.evaluation import epoch_measures
from llp.metrics.ranking import exact_auc
from llp.models.mlp import MLP
from llp.runs.build import Parts, open_table
from llp.runs.run import run_one
from llp.training.evaluation import score_test_rows

ROWS = 2_000_000
SHORT_ROWS = 60_000  # 24 steps an epoch: dense Adam needs most of a second for one
BATCH = 8 * BAG_SIZE  # instances of a minibatch
PLAIN_STEPS = 6
REFERENCE_LINES = ("instance_bce", "instance_mse", "group_prior")


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
    "exact_adam": ["optimizer=exact_adam"],
    "dense Adam, fused": ["optimizer=adam"],
    "dense Adam, foreach": ["optimizer=adam", "optimizer.fused=false", "+optimizer.foreach=true"],
}


def measure_optimizers(outputs_dir: Path) -> tuple[list[Measured], float]:
    """Training steps a second of dllp_bce with each optimizer, and with ours the most of one and of two threads."""
    short = full_vocabulary(SHORT_ROWS, outputs_dir, "trainer.max_epochs=3", "trainer.threads=2")
    rates = {name: instances_per_second(*short, *overrides) / BATCH for name, overrides in OPTIMIZERS.items()}
    two, one = rates["exact_adam"], instances_per_second(*short, "trainer.threads=1") / BATCH
    lines = [
        *(Measured(f"dllp_bce, full vocabulary, {name}", rate, "steps/s") for name, rate in rates.items()),
        Measured("exact_adam on one thread", one, "steps/s"),
        Measured("exact_adam, two threads / one", two / one, "times"),
        Measured("exact_adam / fused", two / rates["dense Adam, fused"], "times", "≥ 8"),
        Measured("exact_adam / foreach", two / rates["dense Adam, foreach"], "times", "≥ 20"),
    ]
    return lines, max(one, two)


def measure_plain_torch(outputs_dir: Path, ours: float) -> list[Measured]:
    """Our step beside a loop of plain torch, and beside the time in which the bytes of its rows can be copied."""
    model, batches = _short_parts(outputs_dir)
    plain = plain_torch.steps_per_second(model, batches, PLAIN_STEPS)
    copied = plain_torch.copying_seconds(model, batches)
    peaks = [in_fresh_process(peak_of, call, outputs_dir) / 2**30 for call in (_our_run, _plain_run)]
    return [
        Measured("dllp_bce, plain torch's loop, fused Adam", plain, "steps/s"),
        Measured("our run / plain torch's loop", ours / plain, "times", "≥ 18"),
        Measured("copying the bytes of a step's rows", 1000 * copied, "ms"),
        Measured("our step / copying its rows", 1 / ours / copied, "times", "≤ 1.6"),
        Measured("peak anonymous memory of our run", peaks[0], "GiB"),
        Measured("the same / plain torch's loop", peaks[0] / peaks[1], "times", "≤ 1"),
    ]


def peak_of(call: Callable[[Path], Any], outputs_dir: Path) -> int:
    """Peak anonymous bytes of this process while it makes the call."""
    register()
    with peak_anonymous() as peak:
        call(outputs_dir)
    return peak[0]


def _our_run(outputs_dir: Path) -> None:
    run_one(compose_config(*full_vocabulary(SHORT_ROWS, outputs_dir, "trainer.max_epochs=2"), "force=true"))


def _plain_run(outputs_dir: Path) -> None:
    plain_torch.steps_per_second(*_short_parts(outputs_dir), 2)


def _short_parts(outputs_dir: Path) -> tuple[MLP, list[BagBatch]]:
    config = compose_config(*full_vocabulary(SHORT_ROWS, outputs_dir))
    table = open_table(config.dataset, config.data_dir)
    model, data = Parts(config, table).model(), Parts(config, table).data(instance_labels=False)
    assert isinstance(model, MLP)
    batches: Iterable[Any] = data.train_dataloader()
    return model, [batch for batch in batches if len(batch.segment) == BATCH]


def measure_methods(outputs_dir: Path) -> tuple[list[Measured], float]:
    """Training steps a second of every method that learns from bags, and the rate of the paper's together."""
    short = full_vocabulary(SHORT_ROWS, outputs_dir, "trainer.max_epochs=3", "trainer.threads=2")
    names = [name for name in options("method") if name not in REFERENCE_LINES]
    rates = {name: instances_per_second(*short, f"method={name}") for name in names}
    lines = [Measured(f"{name}, full vocabulary", rate / BATCH, "steps/s") for name, rate in rates.items()]
    return lines, float(np.mean([rates[name] for name in PAPER]))


def measure_evaluation(table: InstanceTable) -> tuple[list[Measured], float]:
    """Scoring of the test rows and the measures of an epoch."""
    config = compose_config("dataset=synthetic", f"dataset.rows={table.n_rows}")
    method, data = Parts(config, table).method(), Parts(config, table).data(instance_labels=False)
    data.keep_on(method.device)  # as a run does

    def evaluate() -> None:
        epoch_measures(*score_test_rows(method, data), "binary")

    rate = len(data.test_rows) / best_seconds(evaluate, 3)
    scoring = len(data.test_rows) / best_seconds(lambda: score_test_rows(method, data), 3)
    assert isinstance(method.model, MLP)
    plain = plain_torch.rows_per_second(method.model, table.categorical[data.test_rows])
    return [
        Measured("scoring and measuring test rows", rate / 1e6, "million instances/s"),
        Measured("scoring them", scoring / 1e6, "million instances/s"),
        Measured("scoring them by plain torch, gathered before", plain / 1e6, "million instances/s"),
        Measured("ours / plain torch", scoring / plain, "times", "≥ 1"),
    ], rate


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
    measured += [*optimizer_lines, *measure_plain_torch(out, ours)]
    steps, training = measure_methods(out)
    evaluation_lines, evaluation = measure_evaluation(table)
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
