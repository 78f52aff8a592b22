"""Small tables, composed configs of a tiny grid, and commands run as real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from llp.config import CONF_DIR, register
from llp.data.table import Column, InstanceTable
from llp.data.table_writer import TableWriter

# a made dataset that trains in well under a second: 2000 rows, 39 columns of at most 20 codes
TINY = (
    "dataset=synthetic",
    "dataset.rows=2000",
    "dataset.vocab_fraction=1e-4",
    "grouping_key=random_64",
    "trainer.accelerator=cpu",
    "trainer.max_epochs=4",
)


def make_table(folder, *, n=500, sizes=(5, 7, 3), n_numeric=0, label_kind="binary", seed=0, facts=None):
    """A table of random codes in columns a, b, c ... and numbers x0, x1 ..."""
    rng = np.random.default_rng(seed)
    categorical = np.stack([rng.integers(0, size, n) for size in sizes], axis=1).astype(np.int32)
    numeric = rng.normal(size=(n, n_numeric)).astype(np.float32)
    real = (categorical.sum(1) + rng.normal(size=n)).astype(np.float32)
    label = real if label_kind == "real" else (real > np.median(real)).astype(np.float32)
    columns = [Column(chr(ord("a") + i), "categorical", size) for i, size in enumerate(sizes)]
    columns += [Column(f"x{i}", "numeric", None) for i in range(n_numeric)]
    with TableWriter(folder, columns, label_kind=label_kind, rows=n) as writer:
        for start in range(0, n, 200):
            part = slice(start, start + 200)
            writer.write(start, categorical[part], numeric[part], label[part])
        writer.finish(made_by={"_target_": "made", "seed": seed}, source={}, facts=facts or {})
    return InstanceTable.open(folder)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """Where the tiny dataset is prepared once."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def tiny(tmp_path, data_dir):
    """Compose the tiny config with overrides; each test has its own outputs."""
    register()

    def composed(*overrides):
        places = [f"data_dir={data_dir}", f"outputs_dir={tmp_path / 'outputs'}"]
        with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
            return compose("train", [*TINY, *places, *overrides])

    return composed


class Command:
    """`python -m llp.NAME` as a process with its own data and outputs."""

    def __init__(self, data_dir, outputs_dir, cwd, timeout=240):
        self.outputs_dir = outputs_dir
        self.cwd = cwd
        self.timeout = timeout
        self.env = {
            name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "LLP_", "SLURM"))
        }
        self.env |= {
            "PYTHONPATH": str(CONF_DIR.parent),
            "LLP_DATA_DIR": str(data_dir),
            "LLP_OUTPUTS_DIR": str(outputs_dir),
            "OMP_NUM_THREADS": "1",
            "HOME": str(cwd),
        }

    def start(self, *arguments, module="llp.train", **env):
        """Start it and do not wait."""
        command = [sys.executable, "-m", module, *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.cwd, env=self.env | env, stdout=pipe, stderr=pipe, text=True)

    def __call__(self, *arguments, module="llp.train", **env):
        """Run it to its end."""
        with self.start(*arguments, module=module, **env) as process:
            out, err = process.communicate(timeout=self.timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def many(self, *jobs, module="llp.train", **env):
        """Run lists of arguments one after another, each in a process of its own (see children.py)."""
        given = [
            {"module": module, "arguments": [*map(str, job)], "env": self.env | env, "cwd": str(self.cwd)}
            for job in jobs
        ]
        done = subprocess.run(
            [sys.executable, Path(__file__).parent / "end_to_end" / "children.py"],
            cwd=self.cwd,
            env=self.env | env,
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=self.timeout,
            check=True,
        )
        answers = json.loads(done.stdout)
        return [
            subprocess.CompletedProcess(job, answer["code"], answer["out"], answer["err"])
            for job, answer in zip(jobs, answers, strict=True)
        ]

    def results(self):
        """Paths of the result records, and their contents, by the path under the outputs."""
        return {
            str(path.relative_to(self.outputs_dir)): json.loads(path.read_text())
            for path in sorted(Path(self.outputs_dir).rglob("result.json"))
        }


@pytest.fixture
def command(tmp_path, data_dir):
    """A command that runs outside the checkout."""
    return Command(data_dir, tmp_path / "outputs", tmp_path)
