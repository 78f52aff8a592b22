"""The mutants of `make test-mutants` fit the code as it is, and each changes something."""

import ast

import pytest

from tests.mutants.__main__ import all_mutants
from tests.mutants.change import CHECKOUT

pytestmark = pytest.mark.skipif(not (CHECKOUT / "pyproject.toml").is_file(), reason="needs the checkout")


def test_every_mutant_changes_a_text_that_stands_once_into_code_and_names_tests():
    mutants = all_mutants()
    assert len(mutants) >= 150
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        text = mutant.changed()
        if mutant.file.endswith(".py"):
            ast.parse(text)
        assert mutant.old != mutant.new
        assert all((CHECKOUT / file).is_file() for file in mutant.tests.split() if file.endswith(".py")), mutant.name
