"""The examples in the docstrings do what they say."""

import doctest
import importlib

import pytest

from llp.config.grouping_keys import CONF_DIR

PACKAGE = CONF_DIR.parent / "llp"
WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>>" in path.read_text()]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_examples(path):
    module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0
