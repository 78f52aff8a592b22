"""What CONTRIBUTING.md calls public is there, and the pages import nothing else."""

import ast
import importlib

import pytest

import llp
import llp.api
from tests.helpers.pages import CHECKOUT, NOTEBOOKS, PAGES, public_names, python_of

pytestmark = pytest.mark.skipif(not (CHECKOUT / "CONTRIBUTING.md").is_file(), reason="needs the checkout")


@pytest.fixture(scope="module")
def public():
    return public_names()


def test_public_names_can_be_imported_and_are_documented(public):
    for module, names in public.items():
        home = importlib.import_module(module)
        assert set(names) <= set(getattr(home, "__all__", names)), module
        for name in names:
            assert getattr(home, name).__doc__, f"{module}.{name}"


def test_the_package_offers_what_is_listed(public):
    assert sorted(public["llp.api"]) == sorted(llp.api.__all__) == sorted(llp.__all__)
    assert all(getattr(llp, name) is getattr(llp.api, name) for name in llp.__all__)


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS])
def test_pages_import_public_names_only(page, public):
    for text in python_of(page):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "llp":
                known = public["llp.api"] if node.module == "llp" else public.get(node.module, [])
                assert {alias.name for alias in node.names} <= set(known), f"{page}: {node.module}"
