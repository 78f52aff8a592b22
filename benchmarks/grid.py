"""Start-up of a grid whose points are finished, nearly finished or many: records are made, no point is trained.

The grid is a study on a small made table: bag datasets × methods × folds × seeds. What is timed is the command
`python -m llp.train -m ...`, from its start to its end, or to the moment when the first unfinished point trains.
"""

import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measuring import Measured, compose_config, show_measured
from llp.config.composition import register
from llp.runs.build import open_table
from llp.runs.identity import Run
from llp.runs.run import run_one

TABLE = ("dataset=synthetic", "dataset.rows=2000", "dataset.vocab_fraction=1e-4", "hardware.accelerator=cpu")
METHODS = ("dllp_bce", "dllp_mse", "dllp_mae", "easy_llp", "genbags", "group_prior", "instance_bce", "instance_mse",
           "rot", "upm")  # fmt: skip
N_FOLDS = 5
UNFINISHED = 10
_WAIT_S = 0.05


def bag_datasets(number: int) -> list[str]:
    """Names of grouping keys: of pairs of columns, then of random and of fixed-size bags."""
    pairs = [f"C{a}_C{b}" for a, b in itertools.combinations(range(1, 27), 2)]
    sizes = [64, 128, 256, 512]
    few = [f"random_{size}" for size in sizes] + [f"fixed_C1_C2_{size}" for size in sizes]
    return [*pairs[: number - len(few)], *few]


def points(keys: Sequence[str], seeds: int) -> Iterator[tuple[str, str, int, int]]:
    """Key, method, fold and seed of every point."""
    yield from itertools.product(keys, METHODS, range(N_FOLDS), range(seeds))


def make_records(folder: Path, keys: Sequence[str], seeds: int) -> list[Path]:
    """Finish every point of a grid with the record of one run; returns the points' folders."""
    places = [f"data_dir={folder / 'data'}", f"outputs_dir={folder / 'outputs'}"]
    first = compose_config(*TABLE, *places, "grouping_key=random_64", "trainer.max_epochs=1", "save_model=true")
    run_one(first)
    table = open_table(first.dataset, first.data_dir)
    source = Run.of(first.identity, table, first.outputs_dir)
    made = []
    methods = {method: compose_config(*TABLE, *places, f"method={method}") for method in METHODS}
    nodes = {key: compose_config(*TABLE, *places, f"grouping_key={key}").identity["grouping_key"] for key in keys}
    for key, method, fold, seed in points(keys, seeds):
        config = methods[method]
        identity = config.identity | {"grouping_key": nodes[key], "fold": fold, "seed": seed}
        run = Run.of(identity, table, config.outputs_dir)
        run.folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.result_path, run.result_path)
        if config.keeps_weights:
            run.weights_path.parent.mkdir(exist_ok=True)
            shutil.copyfile(source.weights_path, run.weights_path)
        made.append(run.folder)
    return made


def start(folder: Path, keys: Sequence[str], seeds: int) -> "subprocess.Popen[bytes]":
    """Start the grid's command."""
    axes = [f"grouping_key={','.join(keys)}", f"method={','.join(METHODS)}", f"seed={','.join(map(str, range(seeds)))}"]
    places = [f"data_dir={folder / 'data'}", f"outputs_dir={folder / 'outputs'}"]
    command = [sys.executable, "-m", "llp.train", "-m", *TABLE, *places, *axes]
    return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)


def seconds_to_end(folder: Path, keys: Sequence[str], seeds: int) -> float:
    """Time of a command whose points are all finished."""
    begin = time.perf_counter()
    with start(folder, keys, seeds) as process:
        if process.wait() != 0:
            raise RuntimeError(f"the grid ended with code {process.returncode}")
    return time.perf_counter() - begin


def seconds_to_training(folder: Path, keys: Sequence[str], seeds: int, unfinished: Sequence[Path]) -> float:
    """Time until one of the unfinished points has trained an epoch; the command is stopped then."""
    begin = time.perf_counter()
    with start(folder, keys, seeds) as process:
        while not any((run / "metrics.csv").exists() for run in unfinished):
            if process.poll() is not None:
                raise RuntimeError(f"the grid ended with code {process.returncode} before it trained")
            time.sleep(_WAIT_S)
        taken = time.perf_counter() - begin
        process.kill()
    return taken


def measure(folder: Path, n_keys: int, seeds: int, bars: tuple[str, str]) -> list[Measured]:
    """Time a grid of which all points are finished, then all but a few."""
    keys = bag_datasets(n_keys)
    folders = make_records(folder, keys, seeds)
    end = seconds_to_end(folder, keys, seeds)
    unfinished = folders[:: max(1, len(folders) // UNFINISHED)][:UNFINISHED]
    for run in unfinished:
        shutil.rmtree(run)
    begun = seconds_to_training(folder, keys, seeds, unfinished)
    name = f"{len(folders):,} points"
    return [
        Measured(f"{name}, all finished: the command", end, "s", bars[0]),
        Measured(f"{name}, {len(unfinished)} not finished: to the end of the first epoch", begun, "s", bars[1]),
    ]


def main() -> None:
    """Measure and show."""
    register()
    out = compose_config().outputs_dir / "bench"
    scratch = out / "grid"
    measured = []
    for n_keys, seeds, bars in ((56, 1, ("< 30", "< 45")), (50, 4, ("< 120", "< 120"))):
        shutil.rmtree(scratch, ignore_errors=True)
        measured += measure(scratch, n_keys, seeds, bars)
    shutil.rmtree(scratch)
    show_measured(measured, out / "grid.json")


if __name__ == "__main__":
    main()
