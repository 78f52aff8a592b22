"""The examples in the docstrings do what they say."""

import doctest
import importlib

import pytest

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent
FILES = [path for place in ("llp", "benchmarks") for path in sorted((CHECKOUT / place).rglob("*.py"))]
WITH_EXAMPLES = [path for path in FILES if ">>>" in path.read_text()]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_examples(path):
    module = importlib.import_module(".".join(path.relative_to(CHECKOUT).with_suffix("").parts))
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0
