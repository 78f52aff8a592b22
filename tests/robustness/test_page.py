"""docs/robustness.md is what is made from its lists."""

import pytest

from tests.helpers.wrong_values import VALUES
from tests.robustness.__main__ import FAULTS_HEAD, HEAD, PAGE, cell, page_of, play, rows_of
from tests.robustness.faults import FAULTS

LEAST_FAULTS = 20

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")


def test_the_page_tells_of_every_wrong_value_as_the_checks_do_and_shows_no_traceback():
    """The texts of VALUES are held against the checks in tests/unit/config/test_checks.py."""
    text = PAGE.read_text()
    rows = rows_of(text)
    inputs = [row for row in text.removeprefix(HEAD).partition(FAULTS_HEAD)[0].splitlines() if row]
    assert len(inputs) == len(VALUES) >= 60, "write the page anew: python -m tests.robustness inputs"
    for row, (given, said) in zip(inputs, VALUES, strict=True):
        assert row.startswith(f"| {cell(given)} | {cell(said)[:-1].rstrip('` ')}"), given
    assert len(rows) >= LEAST_FAULTS
    assert set(rows) <= set(FAULTS)
    assert "Traceback" not in text


@pytest.mark.slow
def test_the_page_is_made_from_its_lists():
    text = PAGE.read_text()
    assert text == page_of(rows_of(text)), "write the page anew: python -m tests.robustness inputs"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_without_a_traceback(name):
    answer = play(name)
    if answer is None:
        pytest.skip("needs the right to mount a small disk")
    row = rows_of(PAGE.read_text()).get(name)
    assert row is None or f" | {answer[0]} | " in row
    assert FAULTS_HEAD in PAGE.read_text()
