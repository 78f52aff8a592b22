"""What a user waits for, as whole processes: `python -m benchmarks.waits [CHECKOUT]` (`make bench-waits`).

Each command is timed with its start-up, minimum and median of five, beside a script by hand (`benchmarks/by_hand.py`)
where there is one; with the checkout of another commit, both commits' commands are timed in turn.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import raw_synthetic
from benchmarks.measuring import REPEATS, Measured, show_measured
from benchmarks.predict import write_rows

HERE = Path(__file__).parents[1]
SHORT_RUN = "train dataset=synthetic dataset.rows=200000 method=dllp_bce trainer.max_epochs=2 trainer.threads=2"
OWN_RUN = "train dataset=few method=dllp_bce trainer.max_epochs=2 grouping_key=random_64 save_model=true"
OWN_FILES = "label=clicked id_column=id"
COMMANDS = {  # by what a user waits for; RUN stands for the folder of the run of OWN_RUN
    "short run": f"{SHORT_RUN} force=true",
    "own CSV": f"prepare dataset=files name=mine files=../rows.csv {OWN_FILES} force=true",
    "own Parquet": f"prepare dataset=files name=mine files=../rows.parquet {OWN_FILES} force=true",
    "raw Criteo CTR": "prepare dataset=criteo_ctr raw=../raw.txt force=true",
    "scores of 2,000 rows": "predict run=RUN files=../new.parquet out=scores.parquet",
    "finished point": OWN_RUN,
    "status": "status",
}
BY_HAND = {
    "own CSV": "prepare ../rows.csv by_hand",
    "own Parquet": "prepare ../rows.parquet by_hand",
    "scores of 2,000 rows": "score ../new.parquet RUN data/few by_hand.parquet",
}


def make_files(home: Path) -> None:
    """Write own rows and raw lines."""
    for name, rows, seed in (("rows", 500_000, 0), ("few", 20_000, 0), ("new", 2_000, 3)):
        write_rows(home / f"{name}.parquet", rows, seed)
    pl.read_parquet(home / "rows.parquet").write_csv(home / "rows.csv")
    raw_synthetic.write_ctr(
        home / "raw.txt", rows=1_000_000, seed=0, vocab_fraction=1.0, tail_share=0.25, tail_values=10_000_000
    )


def seconds(program: list[str], words: str, cwd: Path, checkout: Path) -> float:
    """Wall-clock seconds of a process; the folder of a trained run takes the place of RUN."""
    if "RUN" in words:
        (run,) = (cwd / "outputs" / "few").rglob("result.json")
        words = words.replace("RUN", str(run.parent.relative_to(cwd)))
    if program[0] == "-m":
        name, words = words.partition(" ")[::2]
        program = ["-m", f"llp.{name}"]
    env = os.environ | {"PYTHONPATH": str(checkout), "LLP_DATA_DIR": "data", "LLP_OUTPUTS_DIR": "outputs"}
    begin = time.perf_counter()
    subprocess.run([sys.executable, *program, *words.split()], cwd=cwd, env=env, check=True, capture_output=True)
    return time.perf_counter() - begin


def measure(home: Path, checkouts: list[Path]) -> list[Measured]:
    """Time every command of each checkout, and scripts by hand, in turn."""
    make_files(home)
    sides = {"" if one == HERE else " before": one for one in checkouts}
    folders = {side: home / f"work{side.strip()}" for side in sides}
    for side, checkout in sides.items():
        folders[side].mkdir()
        for words in (f"prepare dataset=files name=few files=../few.parquet {OWN_FILES}", OWN_RUN, SHORT_RUN):
            seconds(["-m"], words, folders[side], checkout)
    lines = []
    for what, words in COMMANDS.items():
        taken: dict[str, list[float]] = {}
        for _ in range(REPEATS):
            for side, checkout in sides.items():
                taken.setdefault(what + side, []).append(seconds(["-m"], words, folders[side], checkout))
            if what in BY_HAND:
                program = [str(HERE / "benchmarks" / "by_hand.py")]
                taken.setdefault(f"{what} by hand", []).append(seconds(program, BY_HAND[what], folders[""], HERE))
        for name, times in taken.items():
            lines += [Measured(name, min(times), "s"), Measured("its median", statistics.median(times), "s")]
        if what in BY_HAND:
            ratio = min(taken[f"{what} by hand"]) / min(taken[what])
            lines.append(Measured("by hand / ours", ratio, "times", "≥ 1" if "scores" in what else "≥ 0.7"))
    check_equal(folders[""])
    return lines


def check_equal(work: Path) -> None:
    """Refuse a yardstick that does another work: its codes and its scores are ours."""
    codes, others = (np.load(work / name / "categorical.npy", mmap_mode="r") for name in ("data/mine", "by_hand"))
    assert np.array_equal(codes, others)
    ours, theirs = (pl.read_parquet(work / name)["probability"] for name in ("scores.parquet", "by_hand.parquet"))
    np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=0, atol=1e-6)


def main() -> None:
    """Measure and show."""
    checkouts = [*(Path(one).resolve() for one in sys.argv[1:]), HERE]
    home = Path(tempfile.mkdtemp())
    try:
        measured = measure(home, checkouts)
    finally:
        shutil.rmtree(home)
    show_measured(measured, Path(os.environ.get("LLP_OUTPUTS_DIR", "outputs")) / "bench" / "waits.json")


if __name__ == "__main__":
    main()
