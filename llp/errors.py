"""The one exception for a wrong input, and the one way to word it.

Every message says what was given, what is expected, and how to write it. Of an option:
`Invalid seed='x': expected an integer >= 0, such as seed=0`. Of a file: `mine.csv, line 7: 3 fields instead of 4; ...`,
the place, what is there, and what to do.
"""

import difflib
import re
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

LONGEST = 300  # characters of a given value that are shown
LONGEST_MESSAGE = 2000


class InputError(ValueError):
    r"""Wrong input of the user's: the commands print the message, one line, without a traceback.

    Parameters
    ----------
    message : str
        What is wrong. Line ends, bytes that are no text and the like, of what was given, become escapes; of a long one
        the middle is left out.

    Examples
    --------
    >>> print(InputError("no column 'a\nb'"))
    no column 'a\nb'
    """

    def __init__(self, message: str) -> None:
        said = "".join(one if one.isprintable() else repr(one)[1:-1] for one in message)
        half = LONGEST_MESSAGE // 2
        super().__init__(said if len(said) <= LONGEST_MESSAGE else f"{said[: half - 3]} … {said[-half:]}")


def invalid(name: str, value: Any, expected: str, example: Any = ...) -> InputError:
    """The error for an option's value: what was given, what is expected, and an example.

    The example is a value that is accepted, or a text with '=' that is written as it stands; without one, none is
    given.

    >>> str(invalid("seed", "x", "an integer >= 0", 0))
    "Invalid seed='x': expected an integer >= 0, such as seed=0"
    """
    text = f"Invalid {name}={shortened(plain(value, repr))}: expected {expected}"
    if example is ...:
        return InputError(text)
    whole = isinstance(example, str) and "=" in example
    return InputError(f"{text}, such as {example if whole else f'{name}={plain(example)}'}")


def shortened(text: str) -> str:
    """The part of a given value that is shown."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters)"


def missing(name: str, expected: str, example: Any) -> InputError:
    """The error for an option that is not there, which a YAML file has to give.

    >>> str(missing("dataset.embedded", "true or false", True))
    'Missing dataset.embedded: expected true or false, such as embedded: true in its YAML file'
    """
    line = f"{name.split('.')[-1]}: {plain(example)}"
    return InputError(f"Missing {name}: expected {expected}, such as {line} in its YAML file")


def plain(value: Any, text: Callable[[str], str] = str) -> str:
    """A value as one writes it on the command line; by `repr` with texts in quotes, so that 'null' is not null.

    >>> plain([True, None, "a", 1.5])
    '[true,null,a,1.5]'
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {plain(one, text)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(plain(one, text) for one in value) + "]"
    return text(value) if isinstance(value, str) else str(value)


def choice(names: list[str], word: str = "or") -> str:
    """Names as an enumeration.

    >>> choice(["auto", "cpu", "gpu"])
    'auto, cpu or gpu'
    """
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "none"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is most like another one.

    >>> nearest("lable", ["table", "label", "name"])
    'label'
    """

    def likeness(other: str) -> tuple[float, bool]:
        return difflib.SequenceMatcher(None, name, other).ratio(), other[:1] == name[:1]

    return max(sorted(names), key=likeness, default=None)


def further(n: int) -> str:
    """Of n places that are wrong alike, how many there are beside the one that is shown."""
    return f" (and {n - 1} more)" if n > 1 else ""


def first_line(error: BaseException) -> str:
    """First line of an exception's message; its type where it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def out_of_memory(error: BaseException) -> InputError | None:
    """The error for memory that is not there, by numpy, by torch on the CPU or on a GPU; None for any other error.

    >>> str(out_of_memory(MemoryError("Unable to allocate 7.3 TiB for an array")))[:39]
    'There is not enough memory for 7.3 TiB:'
    """
    said = str(error)
    if not (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "DefaultCPUAllocator: can't allocate memory" in said
    ):
        return None
    size = re.search(r"(?:tried to allocate|Tried to allocate|Unable to allocate) ([\d.]+ \w+)", said)
    wanted = f" for {size[1]}" if size else ""
    return InputError(
        f"There is not enough memory{wanted}: expected a model, minibatches and a table that fit, such as smaller "
        "model.hidden, trainer.bags_per_batch or grouping_key.high_thresh"
    )


def place(code: CodeType, line: int | None = None) -> str:
    """The place of code: class and function, file and line."""
    return f"{code.co_qualname} ({code.co_filename}, line {line or code.co_firstlineno})"
