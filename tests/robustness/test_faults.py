"""A fault ends with the exit codes that are known of it, and without a traceback: each by real processes."""

import pytest

from tests.robustness.faults import FAULTS
from tests.robustness.scene import Scene


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_without_a_traceback(tmp_path, name):
    codes, scene_of = FAULTS[name]
    answers = list(scene_of(Scene(tmp_path / "scene")))
    for answer in answers:
        for word in ("Traceback", "Exception ignored", "Logging error", "HYDRA_FULL_ERROR"):
            assert word not in answer.out + answer.err
    assert [answer.code for answer in answers if answer.told] == codes
