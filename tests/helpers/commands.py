"""Commands run as real processes, and the overrides of a tiny grid."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

from llp.config.grouping_keys import CONF_DIR

# a made dataset that trains in well under a second: 2000 rows, 39 columns of at most 20 codes
TINY = (
    "dataset=synthetic",
    "dataset.rows=2000",
    "dataset.vocab_fraction=1e-4",
    "grouping_key=random_64",
    "hardware.accelerator=cpu",
    "trainer.max_epochs=4",
)
# of that table: few queries, labels that follow its columns, and a report
FEW = "method.queries=[[C8],[C16],[C8,C16]]"
SIGNAL = ("dataset.prepare.signal=6", "dataset.table=with_signal")
REPORT = (
    "grouping_key=report",
    "dataset.key_columns=[C8,C16,C17]",
    *SIGNAL,
    "grouping_key.least_count=5",
    "method=cell_glm",
)


def small_suite(folder):
    """Write an experiment as the open suite's, of the tiny table in two kinds of bags; the arguments that train it."""
    options = "".join(f"  {one.removeprefix('dataset.').replace('=', ': ')}\n" for one in TINY[1:3])
    dataset = f"dataset:\n{options}"
    files = {
        f"bag_dataset/tiny_{key}": f"defaults: [override /dataset: synthetic, override /grouping_key: {key}]\n{dataset}"
        for key in ("random_32", "random_64")
    }
    params = "{bag_dataset: 'tiny_random_32,tiny_random_64', method: 'dllp_bce,upm', fold: '0,1,2,3,4', seed: 0}"
    files["experiment/small"] = f"defaults: [override /protocol: holdout]\nhydra: {{sweeper: {{params: {params}}}}}\n"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(f"# @package _global_\n{text}")
    return ["experiment=small", f"hydra.searchpath=[file://{folder}]", "hardware.accelerator=cpu"]


FOREIGN = ("WANDB", "LLP_", "SLURM")  # environment of the machine that a command would obey


@cache
def _children():
    """The process that forks the children of all tests that run in this one; it ends with its input."""
    place = Path(__file__).parent
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    env |= {"PYTHONPATH": str(CONF_DIR.parent), "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, place / "children.py"], cwd=place, env=env, stdin=pipe, stdout=pipe, text=True
    )


class Command:
    """`python -m llp.NAME` as a process with its own data and outputs."""

    def __init__(self, data_dir, outputs_dir, cwd, timeout=240):
        self.outputs_dir = outputs_dir
        self.cwd = cwd
        self.timeout = timeout
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self.env |= {
            "PYTHONPATH": str(CONF_DIR.parent),
            "LLP_DATA_DIR": str(data_dir),
            "LLP_OUTPUTS_DIR": str(outputs_dir),
            "OMP_NUM_THREADS": "1",
            "HOME": str(cwd),
        }

    def start(self, *arguments, module="llp.train", own_group=False, **env):
        """Start it and do not wait; with `own_group` its workers and it can be signalled together."""
        command = [sys.executable, "-m", module, *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.cwd, env=self.env | env, stdout=pipe, stderr=pipe, text=True, start_new_session=own_group
        )

    def __call__(self, *arguments, module="llp.train", **env):
        """Run it to its end."""
        with self.start(*arguments, module=module, **env) as process:
            out, err = process.communicate(timeout=self.timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def killed(self, after, *arguments, module="llp.train"):
        """Start it and kill all its processes after some seconds; says whether they were still there."""
        process = self.start(*arguments, module=module, own_group=True)
        try:
            _, err = process.communicate(timeout=after)
            assert process.returncode == 0, err
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return process.returncode == -signal.SIGKILL

    def many(self, *jobs, module="llp.train", **env):
        """Run lists of arguments one after another, each in a process of its own."""
        return [done for _, done in self.each([(module, job) for job in jobs], **env)]

    def each(self, jobs, **env):
        """Run (module or path of a script, arguments) one after another, each in a process of its own (children.py)."""
        given = [
            {"code": code, "arguments": [*map(str, job)], "env": self.env | env, "cwd": str(self.cwd)}
            for code, job in jobs
        ]
        server = _children()
        try:
            server.stdin.write(json.dumps(given) + "\n")
            server.stdin.flush()
            answers = json.loads(server.stdout.readline())
        except BaseException:  # a test that took too long: its answer is not the next one's
            server.kill()
            _children.cache_clear()
            raise
        return [
            (job, subprocess.CompletedProcess(job[1], answer["code"], answer["out"], answer["err"]))
            for job, answer in zip(jobs, answers, strict=True)
        ]

    def results(self):
        """Paths of the result records, and their contents, by the path under the outputs."""
        return {
            str(path.relative_to(self.outputs_dir)): json.loads(path.read_text())
            for path in sorted(Path(self.outputs_dir).rglob("result.json"))
        }


def assert_refused(answer, message):
    """A command's answer to wrong input: one line that `message`, a pattern, is found in, and no traceback."""
    assert answer.returncode == 1
    assert re.search(message, answer.stderr, re.MULTILINE), answer.stderr
    assert "Traceback" not in answer.stdout + answer.stderr
