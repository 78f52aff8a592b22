"""What is wrong with a value, in one line: pydantic's place, message and input, in the words of `llp.errors`."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import AfterValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from llp.errors import InputError, choice, invalid, missing

WORDS = {  # by pydantic's type of an error, with its context; other messages are pydantic's own
    "bool_type": "true or false",
    "dict_type": "a group of options",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "a number > {gt:g}",
    "greater_than_equal": "a number >= {ge:g}",
    "int_type": "an integer",
    "less_than": "a number < {lt:g}",
    "less_than_equal": "a number <= {le:g}",
    "list_type": "a list",
    "model_type": "a group of options",
    "none_required": "null",
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
    "too_short": "a list that is not empty",
    "tuple_type": "a list",
}
EXAMPLES = {"bool_type": True, "int_type": 1, "string_type": "NAME"}


def like(pattern: str, words: str) -> AfterValidator:
    """In a type hint: refuse texts that a pattern does not fit as a whole, and say in words which ones it does."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.DOTALL):
            raise PydanticCustomError("form", "{words}", {"words": words})
        return text

    return AfterValidator(check)


def complaint(error: ValidationError, given: Any, name: str = "") -> InputError:
    """The error for the user: the first thing that is wrong.

    Parameters
    ----------
    error : ValidationError
        Pydantic's.
    given : object
        What was given, a plain value.
    name : str
        The option that it was given for; nothing for a command's whole config.
    """
    errors = error.errors(include_url=False)
    path, value = place(errors[0], given)
    alike = [one for one in errors if place(one, given)[0] == path]
    option = ".".join(filter(None, (name, *path)))
    if errors[0]["type"] == "missing":
        return missing(option, "a value", "VALUE")
    if errors[0]["type"].startswith("union_tag"):  # the option that says which kind of group it is
        tag, kinds = (str(errors[0]["ctx"][one]).replace("'", "") for one in ("discriminator", "expected_tags"))
        return invalid(f"{option}.{tag}", value.get(tag), choice(kinds.split(", ")), kinds.split(", ")[0])
    words = list(dict.fromkeys(map(_words, alike)))
    each = "a list, each of it " if isinstance(errors[0]["loc"][-1:] and errors[0]["loc"][-1], int) else ""
    return invalid(option, value, each + choice(words), ... if each else _example(alike[0]))


def place(error: ErrorDetails, given: Any) -> tuple[list[str], Any]:
    """Where an error is, as far as options have names, and what was given there."""
    path, value = list[str](), given
    for part in error["loc"]:
        if isinstance(value, Mapping) and part in value:
            path, value = [*path, str(part)], value[part]
    return ([*path, str(error["loc"][-1])], None) if error["type"] == "missing" else (path, value)


def _words(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    if error["type"] == "literal_error":
        return str(context["expected"]).replace("'", "")
    if error["type"] in WORDS:
        return WORDS[error["type"]].format_map(context)
    return error["msg"].removeprefix("Input should be ")


def _example(error: ErrorDetails) -> Any:
    context = error.get("ctx", {})
    if error["type"] == "literal_error":
        return str(context["expected"]).replace("'", "").replace(" or ", ", ").split(", ")[0]
    return context.get("ge", context.get("le", EXAMPLES.get(error["type"], ...)))


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is most like another one.

    >>> nearest("lable", ["table", "label", "name"])
    'label'
    """

    def likeness(other: str) -> tuple[float, bool]:
        return difflib.SequenceMatcher(None, name, other).ratio(), other[:1] == name[:1]

    return max(sorted(names), key=likeness, default=None)


def unknown_option(name: str, value: Any, there: Collection[str], example: str, of: str = "") -> InputError:
    """The error for an option that nothing reads: it names the options there are, and the nearest one.

    Parameters
    ----------
    name, value
        The option with its groups, and what was given.
    there : collection of str
        The group's options.
    example : str
        How the nearest option is written, with a value.
    of : str
        What has the options, if not the group.
    """
    group = name.rpartition(".")[0]
    return invalid(name, value, f"an option of {of or group} ({', '.join(sorted(there)) or 'there is none'})", example)
