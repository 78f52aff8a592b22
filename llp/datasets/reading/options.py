"""The options that say how text files are written."""

import codecs
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic import Field as Constraint
from pydantic_core import PydanticCustomError

from llp.config.complaints import like
from llp.errors import choice

DECIMALS = {"point": r"\.", "comma": ","}  # patterns
THOUSANDS = {"comma": ",", "point": r"\.", "space": "[ \u00a0\u202f]", "apostrophe": "['\u2019]"}

SEPARATORS = {"tab": "\t", "semicolon": ";", "pipe": "|", "comma": ",", "space": " ", "\\t": "\t"}


def _as_text(value: Any) -> Any:
    """Take as a text what YAML reads as a number or a truth value: positive=1, columns=[1,2]."""
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]
Names = Annotated[tuple[Text, ...], BeforeValidator(lambda x: x if isinstance(x, list | tuple) or x is None else [x])]


def _text_encoding(name: str) -> str:
    """A codec's name, unless the codec is unknown or none from bytes to text, as rot13 and base64 are."""
    try:
        if codecs.lookup(name)._is_text_encoding:
            return name
    except (LookupError, ValueError):
        pass
    raise PydanticCustomError("value_error", "a text encoding, such as encoding=latin-1")


_NAMED = "auto|comma|semicolon|tab|pipe|space"
_CHARACTER = r"[\x01-\x09\x0b-\x7f]"


class Options(BaseModel):
    """Options that are checked, of which none is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Reading(Options):
    """The way in which text files are written; Parquet, Arrow and ARFF files say it themselves."""

    columns: Names | None  # names of the columns of files without a header, or instead of theirs
    header: bool | Literal["auto"]  # the first line names the columns; auto: unless `columns` names others
    separator: Annotated[
        str, like(rf"{_NAMED}|{_CHARACTER}|\\t", f"one character of ASCII, or {choice(_NAMED.split('|'))}", "semicolon")
    ]
    quote: Annotated[str, like(f"none|{_CHARACTER}", "one character of ASCII, or none", "none")]
    decimal: Literal["point", "comma"]  # what stands before the decimals of a number
    thousands: Literal["none", "comma", "point", "space", "apostrophe"]  # between groups of three digits
    encoding: Annotated[str, AfterValidator(_text_encoding), Constraint(examples=["latin-1"])]  # a Python codec
    comment: Annotated[str, Constraint(min_length=1, examples=["#"])] | None  # what lines to leave out begin with
    missing: Names  # texts that mean a missing value, beside the empty one
