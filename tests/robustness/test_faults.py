"""A fault ends as faults.md has it, and without a traceback."""

import pytest

from tests.robustness.__main__ import PAGE, page_of, play, rows_of
from tests.robustness.faults import FAULTS


def test_the_page_is_of_these_faults():
    text = PAGE.read_text()
    assert text == page_of(rows_of(text)), "write it again: python -m tests.robustness"
    assert len(rows_of(text)) == len(FAULTS)
    assert "Traceback" not in text


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_without_a_traceback(name):
    answer = play(name)
    if answer is None:
        pytest.skip("needs the right to mount a small disk")
    assert f" | {answer[0]} | " in rows_of(PAGE.read_text())[name]
