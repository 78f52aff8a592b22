"""Every command and code block of the pages runs, as it is written there."""

import gzip
import re
import shutil
import subprocess

import pytest
import yaml

from benchmarks import raw_synthetic
from tests.helpers.commands import Command
from tests.helpers.pages import CHECKOUT, PAGES, blocks_of, links_of, write_files

PAGE_NAME = re.compile(r"\bdocs/\w+\.md")


@pytest.fixture
def home(tmp_path, data_dir):
    """A folder with made raw files in the formats of Criteo and of one's own, and a command that runs there."""
    options = {"rows": 4000, "seed": 0, "vocab_fraction": 0.001}
    tail = {"tail_share": 0.1, "tail_values": 1000}
    raw_synthetic.write_ctr(tmp_path / "train.txt", **options, **tail)
    (tmp_path / "test.txt").write_text(re.sub(r"(?m)^[01]\t", "", (tmp_path / "train.txt").read_text()))
    (tmp_path / "day_0.gz").write_bytes(gzip.compress((tmp_path / "train.txt").read_bytes()))
    raw_synthetic.write_sscl(tmp_path / "CriteoSearchData", **options, sale_share=0.5)
    lines = [f"{'abc'[i % 3]},{i % 7 or ''},{i % 2}" for i in range(2000)]
    (tmp_path / "mine.csv").write_text("\n".join(["colour,size,clicked", *lines]))
    for table in data_dir.glob("[!.]*"):  # pages name tables of their own alike; those that prepare themselves can stay
        if table.is_dir() and not table.name.startswith(("flights", "synthetic")):
            shutil.rmtree(table)
    (tmp_path / "data").symlink_to(data_dir)
    command = Command(data_dir, tmp_path / "outputs", tmp_path, timeout=1200)
    command.env["PYTHONPATH"] += f":{tmp_path}"
    return command


def quick(module, arguments):
    """Overrides that make a command's runs short: what is tested is that it does what it says, as it is written."""
    if module != "llp.train" or "--help" in arguments:
        return []
    short = ["hardware.accelerator=cpu"]
    if not any(word.startswith("trainer.max_epochs=") for word in arguments):
        short.append("trainer.max_epochs=1")
    if not any(word.startswith("fold=") for word in arguments):
        short.append("fold=4")
    keyed = any(word.startswith("grouping_key=") for word in arguments)
    if "dataset=criteo_ctr" in arguments and not keyed:  # the few rows of a made raw file have no feature bags
        short.append("grouping_key=random_64")
    return short


def jobs_of(page, home):
    """What a page does, in its order: (module, arguments) of a command, or (path, ()) of a Python block."""
    for number, block in enumerate(blocks_of(page)):
        if block.file or block.checkout or block.not_run:
            continue
        if block.language == "python":
            path = home.cwd / f"block_{number}.py"
            path.write_text(block.text)
            yield str(path), []
        elif block.language == "bash":
            for words in block.commands():
                if words[0] == "make":
                    assert subprocess.run(["make", "-n", *words[1:]], cwd=CHECKOUT, capture_output=True).returncode == 0
                elif words[0] in ("mkdir", "touch"):
                    subprocess.run(words, cwd=home.cwd, check=True)
                else:
                    if words[0] == "llp":
                        words[:2] = ["python", "-m", f"llp.{words[1]}"]
                    assert words[:2] == ["python", "-m"], f"a test cannot run {words}"
                    module, *arguments = (word.replace("/data/", f"{home.cwd}/") for word in words[2:])
                    yield module, [*arguments, *quick(module, arguments)]
        else:
            assert block.language in ("", "text"), f"a {block.language} block that is no file"


@pytest.mark.docs
@pytest.mark.timeout(1500)  # dozens of commands, some of them grids
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_runs(home, page):
    write_files(page, home.cwd)
    for job, done in home.each(list(jobs_of(page, home))):
        assert done.returncode == 0, (job, done.stderr[-2000:])


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    assert [str(path) for path in links_of(page) if not path.exists()] == []


def test_pages_that_the_code_names_are_there():
    files = [path for folder in ("llp", "conf", "benchmarks", "tests") for path in (CHECKOUT / folder).rglob("*")]
    named = {name for path in files if path.suffix in (".py", ".yaml") for name in PAGE_NAME.findall(path.read_text())}
    assert "docs/guide.md" in named
    assert [name for name in named if not (CHECKOUT / name).is_file()] == []


def test_blocks_that_do_not_run_are_few_and_say_why():
    left_out = [block.not_run for page in PAGES for block in blocks_of(page) if block.not_run]
    assert len(left_out) <= 15
    assert all(len(reason.split()) >= 3 for reason in left_out)


def test_yaml_blocks_are_yaml():
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "yaml":
                assert isinstance(yaml.safe_load(block.text), dict), (page, block.text)


def test_the_pages_stay_short():
    """Words of README.md and docs/, those of code blocks too, but for the rows of tables."""
    lines = [line for page in PAGES for line in (CHECKOUT / page).read_text().splitlines()]
    assert sum(len(line.split()) for line in lines if not line.startswith("|")) <= 17_000


def test_readme_is_short_and_begins_with_two_commands():
    assert len((CHECKOUT / "README.md").read_text().splitlines()) <= 150
    first = next(block for block in blocks_of("README.md") if block.language == "bash")
    assert [words[:2] for words in first.commands()] == [["make", "demo"], ["make", "test"]]


def test_map_names_every_room():
    """docs/architecture.md names each folder and each module at the top of the package."""
    text = (CHECKOUT / "docs" / "architecture.md").read_text()
    rooms = [path for path in (CHECKOUT / "llp").iterdir() if not path.name.startswith(("_", "."))]
    names = [f"`{path.name}/`" if path.is_dir() else f"`{path.name}`" for path in rooms if path.name != "py.typed"]
    assert [name for name in names if name not in text] == []


def test_options_that_a_page_names_are_options():
    """The table of groups in the guide names every file of these groups."""
    text = (CHECKOUT / "docs" / "guide.md").read_text()
    for group in ("model", "optimizer", "experiment", "protocol", "trainer", "hardware", "logger"):
        (row,) = re.findall(rf"^\| `{group}` \|.*$", text, re.M)
        for path in (CHECKOUT / "conf" / group).glob("*.yaml"):
            assert f"`{path.stem}`" in row, (group, path.stem)
