"""The one exception for a wrong input: the commands print its message without a traceback."""


class InputError(ValueError):
    """Something the user gave does not fit: the message says what was given, what fits, and how to write it."""


def first_line(error: BaseException) -> str:
    """First line of an exception's message; its type where it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
