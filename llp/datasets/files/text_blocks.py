"""Text of any encoding as blocks of whole records in UTF-8: a line feed inside quotes does not end a record."""

import codecs
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from llp.datasets.raw_blocks import BLOCK_BYTES
from llp.errors import InputError

LONGEST_RECORD = 16 * BLOCK_BYTES
BOM = codecs.BOM_UTF8


def utf8(path: Path, pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """A text file's content in UTF-8 with plain line feeds, without a byte order mark."""
    decode = codecs.getincrementaldecoder(encoding)()
    held, first = b"", True
    try:
        for piece in pieces:
            text = piece if encoding == "utf-8" else decode.decode(piece).encode()
            text = held + text
            held = text[-1:] if text.endswith(b"\r") else b""  # its line feed may come with the next piece
            text = text[: len(text) - len(held)].replace(b"\r\n", b"\n")
            yield text.removeprefix(BOM) if first else text
            first = False
        yield held + (b"" if encoding == "utf-8" else decode.decode(b"", final=True).encode())
    except UnicodeError as error:
        raise InputError(
            f"{path} is no text in {encoding} ({error}): name its encoding, such as encoding=latin-1"
        ) from None


def blocks(path: Path, pieces: Iterator[bytes], quote: str | None) -> Iterator[bytes]:
    """Blocks of about `BLOCK_BYTES` of whole records; the last one may lack its line feed, which is added.

    Raises
    ------
    InputError
        A quote is opened and never closed.
    """
    held: list[bytes] = []
    size, wanted = 0, BLOCK_BYTES
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < wanted:
            continue
        text = b"".join(held)
        end = _records_end(text, quote)
        if end == 0 and size > LONGEST_RECORD:
            raise InputError(f"{path}: {_open_quote(quote)}")
        wanted = BLOCK_BYTES if end else 2 * size
        held, size = [text[end:]], len(text) - end
        if end:
            yield text[:end]
    last = b"".join(held)
    if last:
        yield last if last.endswith(b"\n") else last + b"\n"


def _open_quote(quote: str | None) -> str:
    return f"a field that opens with {quote} is never closed; write quote=none if the file has no quotes"


def inside_quotes(text: bytes, quote: str | None) -> NDArray[np.bool_] | None:
    """For each byte whether it stands between quotes; None where the text has none."""
    if quote is None or quote.encode() not in text:
        return None
    marks = np.frombuffer(text, np.uint8) == ord(quote)
    return (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)  # the sum wraps around, its parity does not


def _records_end(text: bytes, quote: str | None) -> int:
    """Where the last whole record of a text ends; 0 if none does."""
    inside = inside_quotes(text, quote)
    if inside is None:
        return text.rfind(b"\n") + 1
    ends = np.flatnonzero((np.frombuffer(text, np.uint8) == ord("\n")) & ~inside)
    return int(ends[-1]) + 1 if len(ends) else 0


def without_comments(pieces: Iterator[bytes], comment: str | None, quote: str | None) -> Iterator[bytes]:
    """A text whose lines that begin with the comment mark, outside quotes, are blank."""
    if comment is None:
        yield from pieces
        return
    held, inside = b"", False
    mark, quotes = comment.encode(), (quote or "").encode()
    for piece in itertools.chain(pieces, [b"\n"]):
        *lines, held = (held + piece).split(b"\n")
        for i, line in enumerate(lines):
            if not inside and line.startswith(mark):
                lines[i] = b""
            elif quotes:
                inside ^= line.count(quotes) % 2 == 1
        yield b"".join(line + b"\n" for line in lines)


def without_blank_lines(text: bytes, quote: str | None) -> bytes:
    """The text without lines that are blank, but for those inside quotes."""
    if b"\n\n" not in text and not text.startswith(b"\n"):
        return text
    inside = inside_quotes(text, quote)
    if inside is None:
        return re.sub(rb"\n{2,}", b"\n", text).removeprefix(b"\n")
    content = np.frombuffer(text, np.uint8)
    ends = (content == ord("\n")) & ~inside
    after_an_end = np.concatenate([[True], ends[:-1]])
    kept: bytes = content[~(ends & after_an_end)].tobytes()
    return kept
