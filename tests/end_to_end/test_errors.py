"""What a user gets wrong: one line that says what fits, exit code 1, no traceback, and nothing is written."""

import re

import pytest

from llp.config.grouping_keys import CONF_DIR, options
from tests.helpers.commands import TINY, Command, assert_refused
from tests.helpers.tables import make_table

WRONG = {
    "method=nothing": (["method=nothing"], r"^Invalid method='nothing': expected .*, such as method=\w+$"),
    "fold of a grid": (["-m", "fold=0,5"], r"^Invalid fold=5: expected an integer >= 0 and <= 4, such as fold=0$"),
    "unprepared table": (
        ["dataset=criteo_ctr"],
        r"criteo_ctr is not prepared. Get the raw file \(.*http.*\), then run: "
        r"python -m llp.prepare dataset=criteo_ctr raw=PATH data_dir=",
    ),
    "outputs in a file, grid": (["-m", "outputs_dir=data/foreign/label.npy"], r"^Invalid outputs_dir=.* is not a fo"),
    "no process": (["-m", "hydra/launcher=joblib", "hydra.launcher.n_jobs=0"], r"^Invalid hydra.launcher.n_jobs=0:"),
    "option of a dataset": (["dataset.table=new", "dataset.prepare.rate=2"], r"^Invalid dataset.prepare.rate=2(.0)?"),
    "folder that Hydra cannot make": (["hydra.run.dir=/dev/null/x"], r"^Invalid hydra.run.dir='/dev/null/x': "),
}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """Every wrong command's answer, and the files that they left."""
    place = tmp_path_factory.mktemp("errors")
    data = place / "data"
    make_table(data / "foreign")
    before = sorted(data.rglob("*"))
    command = Command(data, place / "outputs", place)
    jobs = []
    for arguments, _ in WRONG.values():
        chosen = {argument.split("=")[0] for argument in arguments}
        base = [one for one in TINY if one.split("=")[0] not in chosen]
        if "dataset" in chosen:
            base = [one for one in base if not one.startswith("dataset.")]
        jobs.append([*arguments, *base] if arguments[0] == "-m" else [*base, *arguments])
    answers = dict(zip(WRONG, command.many(*jobs), strict=True))
    written = [path for path in (place / "outputs").rglob("*") if path.is_file()]
    written += [path for path in data.rglob("*") if path not in before]
    return answers, written


def test_each_is_said_in_a_line_and_nothing_is_written(wrong):
    answers, written = wrong
    assert written == []
    for case, answer in answers.items():
        assert_refused(answer, WRONG[case][1])
        assert "HYDRA_FULL_ERROR" not in answer.stderr


def test_unknown_choice_lists_the_others(wrong):
    assert set(options("method")) <= set(re.findall(r"\w+", wrong[0]["method=nothing"].stderr))


def test_help_lists_what_can_be_chosen_and_a_users_folder_adds_to_it(command):
    folder = command.cwd / "mine"
    (folder / "experiment").mkdir(parents=True)
    (folder / "experiment" / "quick.yaml").write_text("# @package _global_\nfold: 3\ntrainer:\n  max_epochs: 2\n")
    shown, own = command.many(["--help"], ["--cfg", "job", "--config-dir", folder, "experiment=quick", *TINY[:-1]])
    assert (shown.returncode, shown.stderr) == (0, "")
    for group in ("dataset", "method", "model", "protocol", "logger"):
        assert re.search(rf"^\s*{group}\s+{', '.join(options(group))}$", shown.stdout, re.MULTILINE), group
    assert "COLUMN_COLUMN" in shown.stdout
    assert "checkpoint_minutes: 5" in shown.stdout
    assert str(CONF_DIR) not in shown.stdout
    assert own.returncode == 0, own.stderr
    assert "fold: 3\n" in own.stdout
    assert "max_epochs: 2\n" in own.stdout
    assert not command.outputs_dir.exists()
