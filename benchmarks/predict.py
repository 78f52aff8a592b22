"""How fast `llp.predict` scores files, and in how much memory: `python -m benchmarks.predict` (part of `make bench`).

Made rows of 39 columns, 26 of texts and 13 of numbers, in Parquet files, of which each comes again from the fifth on;
the run is trained on the first of them. Each size, and the table, is scored by the command in a process of its own.
`--rows` says how many rows the largest one has.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measuring import Measured, show_measured
from llp.datasets.files.recipe import Recipe
from llp.scoring.rows import FilesRows
from llp.scoring.trained import TrainedRuns

TEXTS, NUMBERS, VALUES = 26, 13, 2000
FILE_ROWS = 500_000
DIFFERENT_FILES = 4


def write_rows(path: Path, n: int, seed: int) -> None:
    """Write n rows: texts whose k-th most frequent value is as frequent as 1/k, and numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, VALUES + 1)
    names = np.array([f"value {i}" for i in range(VALUES)])
    texts = {f"C{i}": names[rng.choice(VALUES, n, p=share / share.sum())] for i in range(TEXTS)}
    numbers = {f"N{i}": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(size=n).round(3)) for i in range(NUMBERS)}
    clicked = rng.random(n) < 0.25 + 0.1 * (texts["C0"] == names[0])
    frame = pl.DataFrame({"id": np.arange(n) + seed * n, **texts, **numbers, "clicked": clicked.astype(np.int8)})
    frame.with_columns(pl.col(name).fill_nan(None) for name in numbers).write_parquet(path)


def llp(module: str, *arguments: str, cwd: Path) -> None:
    """Run a command in a process of its own."""
    words = [*arguments, "data_dir=data"] + (["outputs_dir=outputs"] if module == "train" else [])
    subprocess.run([sys.executable, "-m", f"llp.{module}", *words], cwd=cwd, check=True, capture_output=True)


def scored(run: Path, what: str, cwd: Path) -> dict[str, float]:
    """What scoring files or a table takes: seconds and processor seconds of it alone, peak memory in bytes."""
    code = (
        "import json, sys, time; from llp import predict; import llp.scoring.predict as scoring\n"
        "write = scoring.write_scores\n"
        "def timed(*given):\n"
        "    begin, done = time.process_time(), write(*given)\n"
        "    status = dict(line.split(':') for line in open('/proc/self/status'))\n"
        "    peak = status['VmHWM'].split()[0]\n"
        "    print('MEASURED', json.dumps([done.rows, done.seconds, time.process_time() - begin, 1024 * int(peak)]))\n"
        "    return done\n"
        "scoring.write_scores = timed; sys.argv[0] = predict.__file__; predict.main()"
    )
    words = [f"run={run}", what, "out=scores.parquet", "data_dir=data"]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=cwd, check=True, capture_output=True, text=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("MEASURED"))
    rows, seconds, cpu, peak = json.loads(line.removeprefix("MEASURED"))
    return {"rows": rows, "seconds": seconds, "cpu": cpu, "peak": peak}


def stages(run: Path, path: Path, data_dir: Path) -> dict[str, float]:
    """Processor seconds a row of the parts of scoring a file: reading, coding, the model."""
    runs = TrainedRuns.open([str(run)], data_dir)
    times = [time.process_time()]
    blocks = list(FilesRows([str(path)], Recipe.load(runs.table.folder), lambda n: None).blocks())
    times.append(time.process_time())
    encoded = [block() for block in blocks]
    times.append(time.process_time())
    for one in encoded:
        runs.score(one.categorical, one.numeric)
    times.append(time.process_time())
    seconds = np.diff(times) / sum(len(one.categorical) for one in encoded)
    return dict(zip(("reading", "coding", "the model"), map(float, seconds), strict=True))


def measure(rows: int, home: Path) -> list[Measured]:
    """Score one file, the table of it, and as many files as hold so many rows."""
    home.mkdir(parents=True, exist_ok=True)
    paths = [home / f"rows{number:03}.parquet" for number in range(-(-rows // FILE_ROWS))]
    for number, path in enumerate(paths):
        if number < DIFFERENT_FILES:
            write_rows(path, FILE_ROWS, number)
        else:
            shutil.copy(paths[number % DIFFERENT_FILES], path)
    llp("prepare", "dataset=files", "name=made", "files=rows000.parquet", "label=clicked", "id_column=id", cwd=home)
    options = ["grouping_key=random_64", "fold=0", "trainer.max_epochs=1", "save_model=true"]
    llp("train", "dataset=made", *options, cwd=home)
    (run,) = (path.parent for path in (home / "outputs").rglob("result.json"))
    table, small, large = (
        scored(run, what, home) for what in ("dataset=made", f"files={paths[0]}", "files=rows*.parquet")
    )
    parts = stages(run, paths[0], home / "data")
    return [
        Measured(
            f"predict, {large['rows']:,} rows of 39 columns",
            large["rows"] / large["seconds"] / 1e6,
            "million rows/s",
            "≥ 1",
        ),
        Measured("its processor time", large["cpu"] / large["rows"] * 1e6, "µs/row", "< 2"),
        *(Measured(f"of it {part} (one file)", seconds * 1e6, "µs/row") for part, seconds in parts.items()),
        Measured("its peak memory", large["peak"] / 2**30, "GiB"),
        Measured(f"peak memory over that of {small['rows']:,} rows", large["peak"] / small["peak"], "times", "< 1.2"),
        Measured(f"a table of {table['rows']:,} rows", table["rows"] / table["seconds"] / 1e6, "million rows/s", "≥ 1"),
        Measured("its processor time", table["cpu"] / table["rows"] * 1e6, "µs/row", "< 2"),
    ]


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(rows, Path(folder))
    show_measured(measured, Path(os.environ.get("LLP_OUTPUTS_DIR", "outputs")) / "bench" / "predict.json")


if __name__ == "__main__":
    main()
