"""Make each mutant in a copy of the checkout, run the tests that must notice it, and say which survive.

`python -m tests.mutants [PART OF A NAME]`; ends with 1 where less than 95 % are killed, or one survives without a
reason. A process is forked for each, after what takes seconds has been imported; two copies are at work at once.
"""

import contextlib
import importlib
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.mutants.change import CHECKOUT, Mutant

PARTS = ("llp", "conf", "hydra_plugins", "tests", "docs", "pyproject.toml", "README.md", "Makefile")
SLOW_IMPORTS = (
    "hydra", "polars", "sklearn.cluster", "sklearn.metrics", "torch", "lightning", "numba", "scipy.stats", "pytest",
    "hypothesis", "torchmetrics", "ot",
)  # fmt: skip
WORKERS = min(2, len(os.sched_getaffinity(0)))
LEAST_KILLED = 0.95


def all_mutants() -> list[Mutant]:
    """Every mutant of the lists."""
    from tests.mutants import of_data, of_measures, of_methods

    return [*of_methods.MUTANTS, *of_data.MUTANTS, *of_measures.MUTANTS]


def run_tests(copy: Path, arguments: list[str]) -> int:
    """Run tests of a copy in this process, which has imported nothing of the checkout's; gives pytest's exit code."""
    os.chdir(copy)
    sys.path[:] = [str(copy), *(path for path in sys.path if path not in ("", str(CHECKOUT)))]
    for name in [name for name in sys.modules if name.split(".")[0] in ("llp", "tests", "hydra_plugins")]:
        del sys.modules[name]
    import pytest

    with contextlib.redirect_stdout(io.StringIO()):
        return int(
            pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--timeout=120", *arguments])
        )


def start(copy: Path, mutant: Mutant) -> int:
    """Change the copy and fork a process that runs the tests; gives its id."""
    text = mutant.changed()
    child = os.fork()
    if not child:
        (copy / mutant.file).write_text(text)
        code = 3
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            code = run_tests(copy, mutant.arguments())
        finally:
            shutil.copy2(CHECKOUT / mutant.file, copy / mutant.file)
            os._exit(code)
    return child


def main() -> int:
    """Run all of them, or those whose name holds a text."""
    mutants = [mutant for mutant in all_mutants() if not sys.argv[1:] or sys.argv[1] in mutant.name]
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as place:
        free = [Path(place) / str(number) for number in range(WORKERS)]
        for copy in free:
            copy.mkdir()
            for part in PARTS:
                source = CHECKOUT / part
                (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / part)
        survivors, running, waiting = [], {}, [*mutants]
        while waiting or running:
            while free and waiting:
                copy, mutant = free.pop(), waiting.pop(0)
                running[start(copy, mutant)] = (copy, mutant)
            child, status = os.wait()
            copy, mutant = running.pop(child)
            free.append(copy)
            code = os.waitstatus_to_exitcode(status)
            if code == 0:
                survivors.append(mutant)
            said = {0: "SURVIVES", 1: "killed"}.get(code, f"killed (exit code {code})")
            print(f"{said}  {mutant.name}", flush=True)
    unexplained = [mutant for mutant in survivors if not mutant.survives]
    killed = len(mutants) - len(survivors)
    print(f"\n{killed} of {len(mutants)} killed, {killed / max(len(mutants), 1):.0%}")
    for mutant in survivors:
        print(f"survives: {mutant.name}: {mutant.survives or 'no reason given'}")
    return 1 if unexplained or killed < LEAST_KILLED * len(mutants) else 0


if __name__ == "__main__":
    sys.exit(main())
