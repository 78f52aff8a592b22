"""Initial weights from a private generator: torch's default one is shared by all threads."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class DrawFrom(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Inside this context, and in this thread alone, random operations draw from the given generator.

    The numbers are those that follow `torch.manual_seed` with the generator's seed. An operation that takes no
    generator, such as dropout, still draws from torch's.

    Parameters
    ----------
    generator : torch.Generator
        On the CPU, where models are made.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator = generator

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """See `TorchDispatchMode`."""
        kwargs = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded in func.tags and kwargs.get("generator") is None:
            func = _with_generator(func)
            if _takes_generator(func):
                kwargs["generator"] = self._generator
        return func(*args, **kwargs)


def _takes_generator(func: Any) -> bool:
    return any(argument.name == "generator" for argument in func._schema.arguments)


def _with_generator(func: Any) -> Any:
    """The overload that takes a generator, where the called one does not: `randn.generator` for `randn.default`."""
    name = func._overloadname
    wanted = "generator" if name == "default" else f"{name}_generator"
    return getattr(func.overloadpacket, wanted) if wanted in func.overloadpacket.overloads() else func
