"""The benchmark's experiments on tiny data, from the first sweep to the page."""

import os
import re
import shlex
import subprocess

import pytest

from llp.config.grouping_keys import CONF_DIR
from llp.results.bag_measures import against_hardness, analysis_path, read_analysis, trends
from tests.helpers.grids import contents_of

CHECKOUT = CONF_DIR.parent
TINY = {
    "dataset.rows=50000": "dataset.rows=2000",
    "dataset.vocab_fraction=1e-2": "dataset.vocab_fraction=1e-4",
    "dataset.key_columns=[C1,C2,C8,C11,C15]": "dataset.key_columns=[C1,C23]",
    "dataset.rows=20000": "dataset.rows=2000",
    "dataset.vocab_fraction=0.01": "dataset.vocab_fraction=1e-3",
    "dataset.key_columns=[C8,C10,C17]": "dataset.key_columns=[C8,C10]",
    "grouping_key=fixed_C1_C11_64,fixed_C1_C11_256": "grouping_key=fixed_C1_C23_64",
    "hydra/launcher=joblib": "",
    "hydra.launcher.n_jobs=2": "",
    "trainer.max_epochs=8": "trainer.max_epochs=1 hardware.accelerator=cpu logger.mode=offline",
    "fold=0,1": "fold=0",
}


def test_a_benchmark_is_swept_over_the_keys_of_an_analysis_that_is_run_first(command):
    tiny = ["dataset=synthetic", "dataset.rows=2000", "dataset.vocab_fraction=1e-4", "dataset.key_columns=[C1,C23]"]
    (done,) = command.many(["-m", *tiny, "grouping_key=benchmark", "method=group_prior", "fold=0"])
    assert done.returncode == 0, done.stderr
    keys = {record["grouping_key"] for record in command.results().values()}
    rows = (command.outputs_dir / "analysis" / "synthetic" / "analysis.csv").read_text().splitlines()
    kept = {row.split(",")[0] for row in rows[1:] if row.split(",")[1:3] == ["feature", "true"]}
    assert keys == kept != set()


def commands_of(target):
    """The lines that `make` would run."""
    printed = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "--always-make", "READY=", "RUN=python", target],
        cwd=CHECKOUT, env=os.environ | {"MAKEFLAGS": ""}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return printed.replace("\\\n", " ").splitlines()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_small_benchmark_gives_every_table_and_figure(command):
    command.timeout = 1200
    experiments = []
    for line in commands_of("benchmark-small"):
        if loop := re.fullmatch(r"for name in (.*?); do (python -m llp\.train .*?) \|\| exit; done", line):
            experiments += [loop[2].replace("$name", name) for name in loop[1].split()]
        elif "llp.train" in line:
            experiments.append(line)
    assert len(experiments) == 7
    for line in experiments:
        overrides = shlex.split(line.removeprefix("python -m llp.train "))
        done = command(*(part for one in overrides for part in TINY.get(one, one).split()))
        assert done.returncode == 0, done.stderr
    done = command(module="llp.report")
    assert done.returncode == 0, done.stderr
    report = command.outputs_dir / "report"
    assert (report / "index.html").is_file()
    tables = {path.stem for path in (report / "tables").glob("*.csv")}
    for kind in ("scores", "random_bags", "fixed_bags", "ranges", "wins", "training"):
        assert f"synthetic_paper_auc_{kind}" in tables
    for kind in ("bag_statistics", "bag_size_clusters", "label_variation", "completeness"):
        assert {f"synthetic_{kind}", f"synthetic_sscl_{kind}"} <= tables
    assert "synthetic_sscl_paper_mse_ranges" in tables


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_small_benchmark_shows_the_papers_correlations_of_auc_with_what_makes_bags_hard(command):
    """Large bags are hard, varied proportions and distant bags easy: the signs of the paper, by DLLP's means."""
    command.timeout = 3000
    line = next(line for line in commands_of("benchmark-small") if "paper_ctr_feature" in line)
    options = shlex.split(re.search(r"experiment=\$name (.*?) \|\|", line)[1])
    overrides = [one for one in options if "launcher" not in one]
    done = command("-m", "experiment=paper_ctr_feature", *overrides, "method=dllp_bce", "logger=csv")
    assert done.returncode == 0, done.stderr
    analysis, _ = read_analysis(analysis_path(command.outputs_dir, "synthetic"))
    joined = against_hardness(contents_of(command.outputs_dir).cells, analysis)
    found = {row["measure"]: row["spearman"] for row in trends(joined)}
    assert found["mean_bag_size"] < -0.5
    assert found["std_label_proportion"] > 0.5
    assert found["inter_intra_ratio"] > 0.5
