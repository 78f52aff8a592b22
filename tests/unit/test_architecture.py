"""What may depend on what, and that a name means one thing: see docs/architecture.md and pyproject.toml."""

import ast
import re
import subprocess
import sys
from collections import defaultdict

import pytest

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent


@pytest.mark.skipif(not (CHECKOUT / "pyproject.toml").is_file(), reason="needs the checkout")
def test_imports_run_downwards_and_in_no_circle():
    # in a process of its own: it disables the loggers that are there
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_test_imports_from_another():
    """What several tests share is in tests/helpers."""
    text = {path: path.read_text() for path in (CHECKOUT / "tests").rglob("test_*.py")}
    shared = re.compile(r"^(?:from|import) tests\.(?!helpers\b|robustness\b).*", re.M)
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
