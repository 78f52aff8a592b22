"""What may depend on what, that a name means one thing, and that messages name commands which there are."""

import ast
import re
from collections import defaultdict
from itertools import chain

import pytest
import yaml

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent


def test_no_test_imports_from_another():
    """What several tests share is in tests/helpers."""
    text = {path: path.read_text() for path in (CHECKOUT / "tests").rglob("test_*.py")}
    shared = re.compile(r"^(?:from|import) tests\.(?!helpers\b).*", re.M)
    assert {path.name: shared.findall(one) for path, one in text.items() if shared.search(one)} == {}


def types_of(module):
    """Names of the public classes and type aliases that a module defines."""
    for node in module.body:
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp()):
                yield name


def test_a_type_has_a_name_of_its_own():
    homes = defaultdict(list)
    for path in sorted((CHECKOUT / "llp").rglob("*.py")):
        for name in types_of(ast.parse(path.read_text())):
            if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name):
                homes[name].append(str(path.relative_to(CHECKOUT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


COMMAND = re.compile(r"python -m llp\.(\w+)((?: -m)?(?: [~+]*[\w./@]+=\S*)+)")


def texts(path):
    """Each text of a module, a formatted value as X."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def commands():
    found = chain.from_iterable(
        COMMAND.findall(text) for path in (CHECKOUT / "llp").rglob("*.py") for text in texts(path)
    )
    return sorted({(name, " ".join(re.findall(r"([\w./@]+)=", options))) for name, options in found})


@pytest.mark.parametrize(("name", "options"), commands())
def test_command_in_a_text_has_the_options_that_it_names(name, options):
    own = {"check": "train"}.get(name, name)  # it takes the options of a training
    config, files = (yaml.safe_load((CONF_DIR / one).read_text()) for one in (f"{own}.yaml", "dataset/files.yaml"))
    groups = {key for one in config["defaults"] if isinstance(one, dict) for key in map(str, one)}
    roots = {re.sub(r"^(optional|override) |^/|@.*", "", group) for group in groups} | {"experiment", "hydra"}
    known = roots | config.keys() | (files.keys() if name == "prepare" else set())
    assert {re.split("[./]", option)[0] for option in options.split()} <= known
