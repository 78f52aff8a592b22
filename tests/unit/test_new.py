"""The package that `llp new` writes, and what it refuses; tests/end_to_end/test_wheel.py installs and trains it."""

import pytest

from llp import new
from llp.errors import InputError


def test_the_package_is_python_of_that_name(tmp_path):
    new.write_package("my_gap", tmp_path / "made")
    for path in (tmp_path / "made").rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert "NAME" not in text + path.name
            assert "CLASS" not in text
            if path.suffix == ".py":
                compile(text, path, "exec")
    assert "class MyGap(LLPMethod)" in (tmp_path / "made" / "llp_my_gap" / "method.py").read_text()


@pytest.mark.parametrize("name", ["dllp_bce", "class", "My", "a-b", "../x", ""])
def test_a_name_that_cannot_be_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"^Invalid method='.*': expected a name .* such as llp new method my_method$"):
        new.write_package(name, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "mine.py").write_text("mine")
    with pytest.raises(InputError, match=r"^Invalid folder=.*: expected one that is empty or not there, such as"):
        new.write_package("my_gap", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


@pytest.mark.parametrize("words", [[], ["my_gap"], ["dataset", "mine"], ["method"], ["method", "a", "b", "c"]])
def test_words_that_it_does_not_take_are_refused_in_one_line(monkeypatch, words):
    monkeypatch.setattr("sys.argv", ["llp", *words])
    with pytest.raises(SystemExit, match=r"^Invalid arguments: expected llp new method NAME \[FOLDER\], such as llp n"):
        new.main()
