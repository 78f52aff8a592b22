"""Tests of what is checked of a grid as a whole."""

import pytest

from llp.runs.grid_checks import crowding


@pytest.mark.parametrize(
    ("n_jobs", "n_points", "threads", "told"),
    [
        (2, 9, 2, "2 processes × trainer.threads=2 are more than the 2 cores"),
        (-1, 9, 2, "2 processes × trainer.threads=2 are more than the 2 cores"),
        (8, 9, 1, "8 processes × trainer.threads=1 are more than the 2 cores"),
        (8, 2, 1, None),
        (2, 1, 2, None),
        (-1, 9, 1, None),
        (-5, 9, 2, None),
    ],
)
def test_more_threads_than_cores_are_told(n_jobs, n_points, threads, told):
    line = crowding(n_jobs, n_points, threads, n_cores=2)
    assert line is None if told is None else line.startswith(told)
