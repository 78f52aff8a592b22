"""Commands that messages tell a user to type: each is one that the project takes."""

import ast
import re
from itertools import chain
from pathlib import Path

import pytest
import yaml

import llp

ROOT = Path(llp.__file__).parent
CONF = ROOT.parent / "conf"
COMMAND = re.compile(r"python -m llp\.(\w+)((?: -m)?(?: [~+]*[\w./@]+=\S*)+)")


def texts(path):
    """Each text of a module, a formatted value as X."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def commands():
    found = chain.from_iterable(COMMAND.findall(text) for path in ROOT.rglob("*.py") for text in texts(path))
    return sorted({(name, " ".join(re.findall(r"([\w./@]+)=", options))) for name, options in found})


@pytest.mark.parametrize(("name", "options"), commands())
def test_command_in_a_text_has_the_options_that_it_names(name, options):
    own = {"check": "train"}.get(name, name)  # it takes the options of a training
    config, files = (yaml.safe_load((CONF / one).read_text()) for one in (f"{own}.yaml", "dataset/files.yaml"))
    groups = {key for one in config["defaults"] if isinstance(one, dict) for key in map(str, one)}
    roots = {re.sub(r"^(optional|override) |^/|@.*", "", group) for group in groups} | {"experiment", "hydra"}
    known = roots | config.keys() | (files.keys() if name == "prepare" else set())
    assert {re.split("[./]", option)[0] for option in options.split()} <= known
