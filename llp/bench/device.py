"""What a CUDA device reaches through the real run: `python -m llp.bench.device` (`make device-check`).

Meant to take some three minutes on an H100, in sections. Each is written to `<outputs_dir>/bench/device_sections.json`
when it is done, and one that is there, from the same device and versions, is not measured again; the table of all goes
to `device.json`. The data is `dataset=synthetic` with the full
published vocabulary and bags of 256, 8 a minibatch; training goes on features in the device's memory, by CUDA graphs,
with Lightning, the curve's CSV and an evaluation each epoch.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from omegaconf import DictConfig

from llp.bench.measuring import Measured, best_seconds, compose_config, machine, show_measured
from llp.bench.projection import Rates, project
from llp.bench.training import BAG_SIZE, PAPER, full_vocabulary, instances_per_second
from llp.config.composition import register
from llp.files import write_atomically
from llp.metrics.on_device import exact_auc
from llp.runs.build import build_data, open_table
from llp.runs.identity import Run
from llp.runs.run import run_one
from llp.runs.thread_pool import Pool

ROWS = 2_000_000
AT_ONCE = 8
ON_DEVICE = ("hardware.accelerator=gpu", "hardware.features_on=device")
GRAPHS = (*ON_DEVICE, "hardware.cuda_graphs=true")
EPOCHS = ("trainer.max_epochs=4", "trainer.patience=9")
MILLION = "million instances/s"

Lines = list[Measured]


def measure_copy(out: Path) -> Lines:
    """Memory traffic of a copy on the device: what bounds everything else."""
    source = torch.empty(2**30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)
        torch.cuda.synchronize()

    return [Measured("copy on the device, read and written", 2 * 2**30 / best_seconds(copy) / 1e12, "TB/s")]


def measure_auc(out: Path) -> Lines:
    """Exact AUC of 9 million scores on the device."""
    scores, labels = torch.rand(9_000_000, device="cuda"), (torch.rand(9_000_000, device="cuda") < 0.25).float()
    exact_auc(scores, labels)
    return [Measured("exact AUC of 9 million scores", 1e3 * best_seconds(lambda: exact_auc(scores, labels)), "ms")]


def measure_gather(out: Path) -> Lines:
    """Minibatches gathered on the device, without a model."""
    config = compose_config(*full_vocabulary(ROWS, out))
    gatherer = build_data(config, open_table(config), instance_labels=False).keep_on(torch.device("cuda", 0))
    ids = torch.arange(8, device="cuda")

    def epoch() -> None:
        for _ in range(200):
            gatherer.gather(ids, 8 * BAG_SIZE)
        torch.cuda.synchronize()

    return [Measured("minibatches gathered on the device", 200 * 8 * BAG_SIZE / best_seconds(epoch) / 1e6, MILLION)]


def measure_ways(out: Path) -> Lines:
    """dllp_bce without what makes it fast, piece by piece."""
    ways = {
        "dense Adam, features on the host": ("optimizer=adam", "hardware.accelerator=gpu", "hardware.features_on=host"),
        "exact Adam, features on the host": ("hardware.accelerator=gpu", "hardware.features_on=host"),
        "exact Adam, features on the device": ON_DEVICE,
    }
    short = full_vocabulary(ROWS // 4, out, "trainer.max_epochs=2")
    rates = {name: instances_per_second(*short, *way) for name, way in ways.items()}
    return [Measured(f"dllp_bce, {name}", rate / 1e6, MILLION) for name, rate in rates.items()]


def measure_method(out: Path, method: str) -> Lines:
    """Training rate of a method with everything on."""
    rate = instances_per_second(*full_vocabulary(ROWS, out, f"method={method}", *GRAPHS, *EPOCHS))
    return [Measured(f"{method}, CUDA graphs", rate / 1e6, MILLION, "≥ 5" if method == "dllp_bce" else "≥ 2.5")]


def measure_side_by_side(out: Path) -> Lines:
    """Several runs on one device, and their evaluations."""
    many = full_vocabulary(ROWS, out, *GRAPHS, "trainer.max_epochs=15", "trainer.patience=20", "force=true")
    configs = [compose_config(*many, f"fold={i % 5}", f"seed={1 + i // 5}") for i in range(AT_ONCE)]
    table = open_table(configs[0])
    pool = Pool(AT_ONCE)
    for config in configs:
        pool.submit(_metric, config)
    pool.wait()
    curves = [pl.read_csv(Run.of(config, table).folder / "metrics.csv")[3:-3] for config in configs]
    n_train = 0.8 * table.n_rows
    training = sum(float(np.median(curve["instances_per_second"])) for curve in curves)
    evaluation = sum(
        (table.n_rows - n_train) / float(np.median(c["epoch_seconds"] - n_train / c["instances_per_second"]))
        for c in curves
    )
    return [
        Measured(f"{AT_ONCE} runs of dllp_bce side by side, in sum", training / 1e6, MILLION, "≥ 15"),
        Measured("their evaluations, in sum", evaluation / 1e6, MILLION),
        *project(Rates(training, evaluation), bar="≤ 36"),
    ]


def _metric(config: DictConfig) -> float:
    best = run_one(config).metric.best
    assert best is not None
    return best


def sections(out: Path) -> dict[str, Callable[[], Lines]]:
    """What is measured, by name, in order; `dllp_bce` and `dllp_mse` come before the methods that start from them."""
    return {
        "copy": partial(measure_copy, out),
        "auc": partial(measure_auc, out),
        "gather": partial(measure_gather, out),
        "ways": partial(measure_ways, out),
        **{f"method {name}": partial(measure_method, out, name) for name in PAPER},
        "side by side": partial(measure_side_by_side, out),
    }


def main() -> None:
    """Measure what is not yet there, and show all of it."""
    if not torch.cuda.is_available():
        sys.exit("device-check needs a CUDA device, none is here")
    register()
    out = Path(compose_config().outputs_dir) / "bench"
    done = measure_missing(sections(out / "device"), out / "device_sections.json")
    show_measured([Measured(**line) for lines in done.values() for line in lines], out / "device.json")


def measure_missing(wanted: Mapping[str, Callable[[], Lines]], path: Path) -> dict[str, list[dict[str, Any]]]:
    """Measure the sections that `path` does not hold from this machine, writing it after each."""
    here = machine()
    found = json.loads(path.read_text()) if path.is_file() else {}
    done = found["sections"] if found.get("machine") == here else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, measure in wanted.items():
        if name not in done:
            done[name] = [asdict(line) for line in measure()]
            content = json.dumps({"machine": here, "sections": done}, indent=1, allow_nan=False)
            write_atomically(path, lambda temporary: temporary.write_text(content))  # noqa: B023 - written at once
    return {name: done[name] for name in wanted}


if __name__ == "__main__":
    main()
