"""What each method's training step costs: `python -m benchmarks.methods` (`make bench-methods`).

Prints forward + loss + backward of every method with a YAML file, relative to `dllp_bce` on the same minibatch of 8
bags of about 250 instances with 39 categorical columns, on one thread. The optimizer takes the gradient as in a run,
but its step is left out, and the first layer holds exactly the rows that the minibatch touches. The methods take turns,
and the shortest of many steps counts: the one least disturbed by other work on the machine.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from rich.console import Console
from rich.table import Table

from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, options
from llp.data.bags import make_bags
from llp.data.batch import BagBatch
from llp.data.datamodule import Batching, HeldOut, LLPDataModule
from llp.data.keys import FoldBags, RandomKey
from llp.data.minibatches import gather_bags
from llp.data.table import Column, InstanceTable
from llp.data.table_writer import TableWriter
from llp.datasets.preparation import prepare_table
from llp.methods.base import LLPMethod
from llp.runs.build import Parts

SIZES = np.array([180, 240, 310, 250, 220, 290, 260, 250])  # instances of the minibatch's bags
ROUNDS = 60
REFERENCE = "dllp_bce"
BARS = {"genbags": 1.2, "easy_llp": 1.2, "ot_llp": 1.2, "soft_erot_llp": 1.3, "hard_erot_llp": 1.3, "sim_llp": 2.0}


def compose_config(*overrides: str) -> TrainConfig:
    """Compose `conf/train.yaml` for the CTR-shaped dataset without Hydra's command line."""
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        config = compose("train", ["dataset=synthetic", f"dataset.rows={SIZES.sum()}", *overrides])
    return check_config(config, TrainConfig)


def touched_table(folder: Path) -> InstanceTable:
    """Make a table of one minibatch with codes renumbered, so that its vocabulary is what the minibatch touches."""
    source = InstanceTable.open(prepare_table(compose_config().dataset, folder))
    uniques = [np.unique(codes, return_inverse=True) for codes in np.asarray(source.categorical).T]
    names = source.categorical_names
    columns = [Column(name, "categorical", len(values)) for name, (values, _) in zip(names, uniques, strict=True)]
    with TableWriter(folder / "touched", columns, label_kind="binary", rows=source.n_rows) as writer:
        writer.write(0, np.stack([codes for _, codes in uniques], axis=1), None, source.label)
        writer.finish(made_by={}, source={}, facts={})
    return InstanceTable.open(folder / "touched")


def one_minibatch(table: InstanceTable) -> LLPDataModule:
    """Make a data module whose train split is the minibatch."""
    rows = np.arange(table.n_rows)
    bags = make_bags(rows, np.concatenate([[0], np.cumsum(SIZES)]), table.label)
    held_out, batching = HeldOut("paper", 0.0, 1.0), Batching(len(SIZES), 1024, False, seed=0, num_workers=0)
    return LLPDataModule(table, RandomKey(bag_size=250, seed=0), FoldBags(bags, rows[:1]), held_out, batching)


def ready_method(name: str, data: LLPDataModule) -> LLPMethod:
    """Make the method as it is when its training begins; a first stage's model has fresh weights."""
    config = compose_config(f"method={name}")
    method = Parts(config, data.table).method()
    if config.method.first_stage is not None:
        method.start_from(Parts(config, data.table).model())
    method.take_train_split(data.train_split)
    method.on_fit_start()
    return method


def step_of(method: LLPMethod, batch: BagBatch) -> Callable[[], None]:
    """Forward, loss and backward of one minibatch."""
    optimizer = method.configure_optimizers()

    def step() -> None:
        optimizer.zero_grad()
        method.minibatch_loss(batch).backward()  # type: ignore[no-untyped-call]

    return step


def shortest_seconds(steps: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Shortest wall-clock time of each step over some rounds in which all take turns."""
    seconds = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            begin = time.perf_counter()
            step()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds


def show_costs(seconds: dict[str, float]) -> None:
    """Print each method's milliseconds and its cost relative to the reference."""
    table = Table("method", "ms", f"× {REFERENCE}", "bar", title=f"{torch.get_num_threads()} thread(s)")
    for name, value in seconds.items():
        bar = f"≤ {BARS[name]}" if name in BARS else ""
        table.add_row(name, f"{1e3 * value:.2f}", f"{value / seconds[REFERENCE]:.2f}", bar)
    Console().print(table)


def main() -> None:
    """Measure and show."""
    register()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        data = one_minibatch(touched_table(Path(folder)))
        methods = {name: ready_method(name, data) for name in options("method")}
        batch = gather_bags(data.table, data.train_bags, np.arange(len(SIZES)))
        learn_from_bags = {name: m for name, m in methods.items() if m.learns_from_bags()}
        show_costs(shortest_seconds({name: step_of(m, batch) for name, m in learn_from_bags.items()}, ROUNDS))


if __name__ == "__main__":
    main()
