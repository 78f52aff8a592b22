"""What a user may write on the command line and Hydra does not take: bare texts, and flags behind options."""

import sys
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException

from llp.config.options import check_depth
from llp.errors import InputError, invalid, shortened

MULTIRUN = ("-m", "--multirun")


class UnreadableError(InputError):
    """A word that is no override."""


def make_parsable() -> None:
    """Change `sys.argv` into what Hydra parses.

    A shell has removed the quotes around values that its grammar does not take, such as positive='>50K', comment='#' or
    a path with (1): they are put back. A `-m` behind an option is put in front.
    """
    words = sorted(sys.argv[1:], key=lambda word: word not in MULTIRUN)  # the rest stays in its order
    sys.argv[1:] = [_parsable(word) for word in words]


def _parsable(word: str) -> str:
    name, equals, value = word.partition("=")
    if word.startswith("-") or not equals:
        return word
    try:
        OverridesParser.create().parse_override(word)
    except HydraException:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'") if "'" in value or value.endswith("\\") else value
        return f"{name}='{escaped}'"
    except (ValueError, RecursionError):  # which `parse_words` tells
        pass
    return word


def parse_words(words: Sequence[str]) -> list[Override]:
    """Parse overrides as Hydra does.

    Raises
    ------
    UnreadableError
        One is none, or one that Hydra breaks down on: without a name, nested too deeply, of thousands of digits.
    """
    return [_parsed(word) for word in words]


def _parsed(word: str) -> Override:
    try:
        [one] = OverridesParser.create().parse_overrides([word])
        check_depth(one.key_or_group, None if one.is_sweep_override() else one.value())
    except OverrideParseException as error:
        raise UnreadableError(
            f"Invalid {shortened(word)}: expected NAME=VALUE, and quotes around other signs than letters, "
            f"digits and -_. ({shortened(' '.join(error.message.split()))}), such as fold=0,1"
        ) from None
    except InputError as error:
        raise UnreadableError(str(error)) from None
    except (ValueError, RecursionError) as error:
        reason = "fewer brackets" if isinstance(error, RecursionError) else "an integer of at most 63 bits"
        name, _, value = word.partition("=")
        raise UnreadableError(str(invalid(name, value, reason))) from None
    if not one.key_or_group:
        raise UnreadableError(f"Invalid {shortened(word)}: expected NAME=VALUE, such as fold=0")
    return one
