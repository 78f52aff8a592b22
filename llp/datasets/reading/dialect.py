"""The dialect of one text: its separator, its quotes, its columns in their order."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["0/1", "whole", "hex", "number", "text"]


class Field(NamedTuple):
    """A column of a text: its name and what fits in it."""

    name: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Dialect:
    """The way in which one text is written."""

    separator: bytes  # one character
    fields: tuple[Field, ...]  # its columns, in order
    header: tuple[str, ...] | None  # names in its first line, where that is a header
    quote: str | None = None  # the character around fields that hold separators

    @property
    def columns(self) -> list[str]:
        """The columns' names."""
        return [field.name for field in self.fields]
