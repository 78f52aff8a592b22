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
    """The way in which one text is written.

    Attributes
    ----------
    separator : bytes
        One character.
    fields : tuple of Field
        Its columns, in order.
    header : tuple of str or None
        What its first line names the columns, where that is a header.
    quote : str or None
        The character around fields that hold separators.
    """

    separator: bytes
    fields: tuple[Field, ...]
    header: tuple[str, ...] | None
    quote: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns' names."""
        return [field.name for field in self.fields]
