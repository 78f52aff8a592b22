"""What a user may write on the command line and Hydra does not take: bare texts, and flags behind options."""

import sys

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

MULTIRUN = ("-m", "--multirun")


def make_parsable() -> None:
    """Change `sys.argv` into what Hydra parses.

    A shell has removed the quotes around values that its grammar does not take, such as positive='>50K', comment='#' or
    a path with (1): they are put back. A `-m` behind an option is put in front.
    """
    parser = OverridesParser.create()
    words = sorted(sys.argv[1:], key=lambda word: word not in MULTIRUN)  # the rest stays in its order
    sys.argv[1:] = [_parsable(word, parser) for word in words]


def _parsable(word: str, parser: OverridesParser) -> str:
    name, equals, value = word.partition("=")
    if word.startswith("-") or not equals:
        return word
    try:
        parser.parse_override(word)
    except HydraException:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'") if "'" in value or value.endswith("\\") else value
        return f"{name}='{escaped}'"
    return word
