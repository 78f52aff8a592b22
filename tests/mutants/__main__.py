"""Make each mutant in a copy of the checkout, run the tests that must notice it, and say which survive.

`python -m tests.mutants [PART OF A NAME]`; ends with 1 where less than 95 % are killed, or one survives without a
reason. A process is forked for each, after what takes seconds has been imported; two copies are at work at once. What
was killed stands in outputs/mutants.json, and is not run again until its file or its tests change.
"""

import contextlib
import hashlib
import importlib
import io
import json
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
NOTHING_FAILED = {0: "SURVIVES", 4: "NAMES NO TEST", 5: "NAMES NO TEST"}  # by pytest's exit code
KILLED = CHECKOUT / "outputs" / "mutants.json"


def all_mutants() -> list[Mutant]:
    """Every mutant of the lists."""
    from tests.mutants import of_data, of_measures, of_methods

    return [*of_methods.MUTANTS, *of_data.MUTANTS, *of_measures.MUTANTS]


def fingerprint(mutant: Mutant) -> str:
    """What decides whether a mutant is killed: the changed file and the tests."""
    tests = [(CHECKOUT / word).read_text() for word in mutant.tests.split() if word.endswith(".py")]
    return hashlib.sha256(repr((mutant.changed(), mutant.tests, tests)).encode()).hexdigest()[:16]


def killed_before() -> dict[str, str]:
    """The fingerprints of the mutants that were killed, by name."""
    found: dict[str, str] = json.loads(KILLED.read_text()) if KILLED.is_file() else {}
    return found


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


def run_all(mutants: list[Mutant], killed: dict[str, str]) -> list[Mutant]:
    """Run the tests of each, note in the file which are killed, and give those that survive."""
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    survivors, running, waiting = [], {}, [*mutants]
    with tempfile.TemporaryDirectory() as place:
        free = [Path(place) / str(number) for number in range(WORKERS)]
        for copy in free:
            copy.mkdir()
            for part in PARTS:
                source = CHECKOUT / part
                (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / part)
        while waiting or running:
            while free and waiting:
                copy, mutant = free.pop(), waiting.pop(0)
                running[start(copy, mutant)] = (copy, mutant, fingerprint(mutant))
            child, status = os.wait()
            copy, mutant, key = running.pop(child)
            free.append(copy)
            code = os.waitstatus_to_exitcode(status)
            if code in NOTHING_FAILED:
                survivors.append(mutant)
            else:
                killed[mutant.name] = key
                KILLED.write_text(json.dumps(killed, indent=1))
            said = NOTHING_FAILED.get(code, "killed" if code == 1 else f"killed (exit code {code})")
            print(f"{said}  {mutant.name}", flush=True)
    return survivors


def main() -> int:
    """Run all of them, or those whose name holds a text."""
    mutants = [mutant for mutant in all_mutants() if not sys.argv[1:] or sys.argv[1] in mutant.name]
    killed = killed_before()
    survivors = run_all([mutant for mutant in mutants if killed.get(mutant.name) != fingerprint(mutant)], killed)
    unexplained = [mutant for mutant in survivors if not mutant.survives]
    share = 1 - len(survivors) / max(len(mutants), 1)
    print(f"\n{len(mutants) - len(survivors)} of {len(mutants)} killed, {share:.0%}")
    for mutant in survivors:
        print(f"survives: {mutant.name}: {mutant.survives or 'no reason given'}")
    return 1 if unexplained or share < LEAST_KILLED else 0


if __name__ == "__main__":
    sys.exit(main())
