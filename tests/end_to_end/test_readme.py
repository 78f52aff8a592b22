"""Every command of the README runs, and its code blocks make the package that they describe."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from llp.config.grouping_keys import CONF_DIR
from llp.datasets import raw_synthetic
from tests.helpers.commands import Command

README = (CONF_DIR.parent / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def commands():
    """The README's commands as lists of words, in order."""
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.strip()]
    return [shlex.split(line, comments=True) for line in lines]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the README's own package and made raw files in the formats of Criteo."""
    home = tmp_path_factory.mktemp("home")
    package = home / "mylab"
    for name in ("conf/method", "conf/dataset"):
        (package / name).mkdir(parents=True)
    for folder in (package, package / "conf"):
        (folder / "__init__.py").touch()
    for code in blocks("python"):
        if "class Gap" in code:
            (package / "gap.py").write_text(code)
        elif "def prepare" in code:
            (package / "visits.py").write_text(code)
    for text in blocks("yaml"):
        kind = "method/gap" if "name: gap" in text else "dataset/visits"
        (package / "conf" / f"{kind}.yaml").write_text(text)
    options = {"rows": 4000, "seed": 0, "vocab_fraction": 0.001}
    raw_synthetic.write_ctr(
        home / "train.txt", **options, tail_share=0.1, tail_values=1000, separator="\t", header=False
    )
    raw_synthetic.write_sscl(home / "CriteoSearchData", **options, sale_share=0.5)
    return home


def test_the_two_commands_are_targets():
    targets = [words[1] for words in commands() if words[0] == "make"]
    assert targets[:2] == ["demo", "test"]
    for target in targets:
        assert subprocess.run(["make", "-n", target], cwd=CONF_DIR.parent, capture_output=True).returncode == 0


@pytest.mark.timeout(900)  # a dozen commands, some of them grids
@pytest.mark.parametrize("module", ["llp.prepare", "llp.train", "llp.analyze"])
def test_every_command_runs(home, module):
    command = Command(home / "data", home / "outputs", home, timeout=900)
    command.env["PYTHONPATH"] += f":{home}"
    jobs = [words[3:] for words in commands() if words[:3] == ["python", "-m", module]]
    assert jobs
    jobs = [[word.replace("/data/", f"{home}/") for word in job] for job in jobs]
    if module == "llp.train":
        jobs = [job if "--help" in job else [*job, *quick(job)] for job in jobs]
    for done in command.many(*jobs, module=module):
        assert done.returncode == 0, (done.args, done.stderr[-2000:])


def quick(job):
    """Overrides that make a command's runs short: what is tested is that it does what it says, as it is written."""
    short = ["trainer.max_epochs=1", "trainer.accelerator=cpu"]
    if not any(word.startswith("fold=") for word in job):
        short.append("fold=4")
    if "dataset=criteo_ctr" in job:  # the few rows of a made raw file have no feature bags
        short.append("grouping_key=random_64")
    return short


def test_report_runs_on_what_the_commands_left(home):
    command = Command(home / "data", home / "outputs", home)
    done = command("fold=0", "dataset=flights", "method=group_prior")
    assert done.returncode == 0, done.stderr
    (report,) = [words[3:] for words in commands() if words[:3] == ["python", "-m", "llp.report"]]
    done = command(*report, module="llp.report")
    assert done.returncode == 0, done.stderr
    assert (home / "outputs" / "report" / "report.md").is_file()


def test_files_that_the_readme_names_exist():
    for name in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (Path(CONF_DIR.parent) / name).exists(), name
