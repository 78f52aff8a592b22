"""Text of any encoding and with any line ends as blocks of whole records in UTF-8."""

import codecs
import re
from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from llp.datasets.reading.unpack import AS_TEXT, HEAD_BYTES, UNPACK, ZIP, Content
from llp.errors import InputError

BLOCK_BYTES = 2**24  # some 60,000 lines of Criteo CTR: as fast as larger ones, in half the memory
RECORD_BYTES = 2**26  # a longer record is none
LINE_END_BYTES = 2**20  # a text without a line feed in so many bytes ends its lines with carriage returns

MARKS = (  # first bytes that tell an encoding; UTF-32's begin as UTF-16's do
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ARFF = rb"(?i)\s*@relation"
FOREIGN = (  # first bytes, what they are, what to do
    (rb"PAR1", "a Parquet file", AS_TEXT),
    (rb"ARROW1|FEA1", "an Arrow file, or Feather of version 1", AS_TEXT),
    (rb"ORC", "an ORC file", AS_TEXT),
    (rb"Obj\x01", "an Avro file", AS_TEXT),
    (rb"\x89HDF", "an HDF5 file", AS_TEXT),
    (rb"\x93NUMPY", "a NumPy file", AS_TEXT),
    (rb"SQLite format 3", "an SQLite database", AS_TEXT),
    (rb"\xd0\xcf\x11\xe0", "an Office file", AS_TEXT),
    (ARFF, "an ARFF file", AS_TEXT),
    (rb'\s*(\{\s*["}]|\[\s*[\[{"])', "a JSON file", AS_TEXT),
    (rb"7z\xbc\xaf", "a 7z archive", UNPACK),
    (rb"Rar!", "a RAR archive", UNPACK),
    (rb"\x1f\x9d", "a file of compress (.Z)", UNPACK),
    (rb"\x04\x22\x4d\x18", "an LZ4 file", UNPACK),
    (rb"\xff\x06\x00\x00sNaPpY", "a Snappy file", UNPACK),
    (rb"%PDF", "a PDF file", "name the data file instead"),
    (rb"(?i)\s*<(!doctype|html|\?xml)", "a web page", "download the data again, perhaps after signing in"),
    (rb"version https://git-lfs", "a pointer of Git LFS", "run `git lfs pull`"),
)


def text_of(content: Content, encoding: str = "utf-8", *, arff: bool = False) -> Iterator[bytes]:
    """A text in UTF-8 with line feeds and no mark of its encoding; refuses what is no text, or none in its encoding."""
    name, pieces = content
    head = next(pieces, b"")
    if head.startswith(ZIP):
        raise InputError(f"{name} is a zip file inside another file: {UNPACK} first.")
    for magic, what, remedy in FOREIGN:
        if re.match(magic, head) and not (arff and magic == ARFF):
            raise InputError(f"{name} is {what}, not a text of lines: {remedy}.")
    encoding = next((codec for mark, codec in MARKS if head.startswith(mark)), encoding)
    text = _line_feeds(_utf8(name, chain([head.removeprefix(codecs.BOM_UTF8)], pieces), encoding))
    first = next(text)
    if b"\0" in first[:HEAD_BYTES]:
        raise InputError(f"{name} is a binary file, not a text of lines: {AS_TEXT}.")
    yield first
    yield from text


def _utf8(name: str, pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    if codecs.lookup(encoding).name == "utf-8":  # what is none is found with its line
        yield from pieces
        return
    try:
        yield from codecs.iterencode(codecs.iterdecode(pieces, encoding), "utf-8")
    except UnicodeError as error:
        raise InputError(
            f"{name} is no text in {encoding} ({error}): name its encoding, such as encoding=latin-1"
        ) from None


def _line_feeds(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same text; one whose lines end with carriage returns alone has line feeds instead."""
    head = b""
    while b"\n" not in head and len(head) < LINE_END_BYTES and (piece := next(pieces, b"")):
        head += piece
    if b"\n" in head or b"\r" not in head:
        yield head
        yield from pieces
    else:
        for piece in chain([head], pieces):
            yield piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def whole_records(name: str, pieces: Iterator[bytes], quote: str | None = None) -> Iterator[bytes]:
    """Blocks of about `BLOCK_BYTES` that end with a record's line feed, without blank last lines."""
    blank = b""  # lines at a block's end: they stay only where something follows
    for block in _cut(name, pieces, quote):
        content = block.rstrip(b"\r\n")
        if not content:
            blank += block
            continue
        end = block.find(b"\n", len(content)) + 1
        lines = blank + content + b"\n"
        blank = block[end:] if end else b""
        while b"\r\n" in lines:
            lines = lines.replace(b"\r\n", b"\n")
        yield lines


def _cut(name: str, pieces: Iterator[bytes], quote: str | None) -> Iterator[bytes]:
    held: list[bytes] = []
    size, wanted = 0, BLOCK_BYTES
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < wanted:
            continue
        text = b"".join(held)
        inside = inside_quotes(text, quote)
        end = text.rfind(b"\n") + 1
        if inside is not None:
            ends = np.flatnonzero((np.frombuffer(text, np.uint8) == ord("\n")) & ~inside)
            end = int(ends[-1]) + 1 if len(ends) else 0
        if end:
            yield text[:end]
        elif size > BLOCK_BYTES + RECORD_BYTES:
            what = f"holds a line of more than {RECORD_BYTES // 2**20} MiB: it is no text of lines."
            if b"\n" in text:
                what = f"holds a field that opens with {quote} and is never closed; write quote=none if there are none"
            raise InputError(f"{name} {what}")
        held, size = [text[end:]], len(text) - end
        wanted = BLOCK_BYTES if end else min(2 * size, BLOCK_BYTES + RECORD_BYTES + 1)
    if last := b"".join(held):
        yield last


def inside_quotes(text: bytes, quote: str | None) -> NDArray[np.bool_] | None:
    """For each byte whether it stands between quotes; None where the text has none."""
    if quote is None or quote.encode() not in text:
        return None
    marks = np.frombuffer(text, np.uint8) == ord(quote)
    return (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)  # the sum wraps around, its parity does not


def without_comments(pieces: Iterator[bytes], comment: str | None, quote: str | None) -> Iterator[bytes]:
    """A text whose lines that begin with the comment mark, outside quotes, are blank."""
    if comment is None:
        yield from pieces
        return
    held, inside = b"", False
    mark, quotes = comment.encode(), (quote or "").encode()
    for piece in chain(pieces, [b"\n"]):
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
