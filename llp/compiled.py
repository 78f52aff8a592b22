"""Loops over arrays that are compiled, once for all processes, and run without the interpreter lock."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function of arrays and numbers; the machine code is kept beside its file where that may be written."""
    # "contract" allows fused multiply-adds and nothing that reorders a sum; "numpy" leaves out the check of each
    # division, which would keep the loop from being vectorised.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # neither the package's folder nor the home may be written: each process compiles again
        return cast(Function, numba.njit(**options)(function))
