"""What may depend on what, and that a name means one thing: see docs/architecture.md and pyproject.toml."""

import ast
import re
from collections import defaultdict

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent


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
