"""Texts on the command line that Hydra's grammar does not take: a shell has removed the quotes that would tell it."""

import sys

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException


def quote_texts() -> None:
    """Quote again, in `sys.argv`, the values that Hydra cannot parse: positive='>50K', comment='#', a path with (1)."""
    parser = OverridesParser.create()
    sys.argv[1:] = [_parsable(word, parser) for word in sys.argv[1:]]


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
