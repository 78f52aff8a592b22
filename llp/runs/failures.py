"""The end of a grid: points that failed are reported one by one, and the command's exit code is 1."""

import os
import sys
import traceback
from collections.abc import Sequence

from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import CompactHydraException

from llp.errors import InputError, first_line


def reason(error: BaseException) -> str:
    """The reason of a failure in a line: a message for users as it is, any other error with its type.

    >>> reason(InputError("no bag is left")), reason(KeyError("x"))
    ('no bag is left', "KeyError: 'x'")
    """
    line = first_line(error)
    told = isinstance(error, InputError | CompactHydraException | OSError) or line == type(error).__name__
    return line if told else f"{type(error).__name__}: {line}"


def named(points: Sequence[Sequence[str]]) -> list[str]:
    """Name points by the overrides in which they differ; a single one by all.

    >>> named([["seed=0", "method=dsq", "fold=0"], ["seed=0", "method=upm", "fold=0"]])
    ['method=dsq', 'method=upm']
    """
    shared = set.intersection(*map(set, points)) if len(points) > 1 else set()
    return [" ".join(override for override in point if override not in shared) for point in points]


def end_of_grid(points: Sequence[Sequence[str]], jobs: Sequence[JobReturn]) -> str | None:
    """The last words of a grid with failed points: how many, and each one's name and reason; None without any."""
    failed = [
        (name, job._return_value)
        for name, job in zip(named(points), jobs, strict=True)
        if job.status == JobStatus.FAILED
    ]
    if not failed:
        return None
    if os.environ.get("HYDRA_FULL_ERROR") == "1":
        for _, error in failed:
            traceback.print_exception(error, file=sys.stderr)
    lines = [f"  failed: {name}: {reason(error)}" for name, error in failed]
    count = f"{len(failed):,} of {len(jobs):,} points failed"
    return "\n".join(
        [f"{count}; the same command tries them again, and python -m llp.status shows what is left", *lines]
    )
