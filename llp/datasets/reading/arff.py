"""ARFF, the text format of Weka: a head that names the columns, then comma-separated records."""

import re
from collections.abc import Iterator

from llp.errors import InputError

ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)
LONGEST_HEAD = 2**24


def read_head(name: str, pieces: Iterator[bytes]) -> tuple[tuple[str, ...], int, bytes]:
    """Column names of an ARFF file in UTF-8, the number of its first line of data, and what was read of these."""
    text = b""
    found = None
    while found is None:
        piece = next(pieces, None)
        if piece is None or len(text) > LONGEST_HEAD:
            raise InputError(f"{name} is no ARFF file: it has no line @data")
        text += piece
        found = re.search(rb"(?im)^[ \t]*@data[ \t]*\r?\n", text)
    names = []
    for number, line in enumerate(text[: found.start()].decode(errors="replace").split("\n"), start=1):
        stripped = line.strip()
        if not stripped.lower().startswith("@attribute"):
            continue
        match = ATTRIBUTE.match(stripped)
        if match is None:
            raise InputError(f"{name}, line {number}: {stripped!r} is no attribute of ARFF (@attribute NAME TYPE)")
        name = match[1]
        names.append(re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name)
    data = text[found.end() :]
    if data.lstrip().startswith(b"{"):
        raise InputError(f"{name} is a sparse ARFF file: write it as a dense one, or as Parquet")
    return tuple(names), text[: found.end()].count(b"\n") + 1, data


def quote_of(data: bytes) -> str:
    """The quotes that the data use: ARFF allows both kinds."""
    return '"' if b'"' in data and b"'" not in data else "'"
