"""Files recognised by their first bytes and unpacked as they are read: gzip, Zstandard, bzip2, xz, tar, zip."""

import bz2
import errno
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from llp.errors import InputError, first_line
from llp.files import naming

READ_BYTES = 2**20
UNPACK_BYTES = 2**16  # that are decompressed at once: what they become is held in memory
HEAD_BYTES = 512  # that tell what a file is
LAYERS = 4  # a gzip file in a tar archive in a gzip file has three

ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
AS_TEXT = "write it as CSV"
UNPACK = "unpack it"


class Content(NamedTuple):
    """The content of a file."""

    name: str  # a path, and behind a colon the name inside an archive
    pieces: Iterator[bytes]  # its bytes


class Codec(NamedTuple):
    """A way of compressing."""

    magic: bytes  # the first bytes, a pattern
    new: Callable[[], Any]  # a new decompressor
    damaged: tuple[type[Exception], ...]  # what it raises on damaged data


CODECS = (
    Codec(rb"\x1f\x8b", partial(zlib.decompressobj, wbits=31), (zlib.error,)),
    Codec(
        rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18",  # a frame, or one to be skipped
        lambda: zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj(),
        (zstandard.ZstdError,),
    ),
    Codec(rb"BZh[1-9]1AY&SY", bz2.BZ2Decompressor, (OSError, EOFError)),
    Codec(rb"\xfd7zXZ\x00|\x5d\x00\x00[\x00-\xff]{10}", lzma.LZMADecompressor, (lzma.LZMAError, EOFError)),
)


def contents(path: Path, on_read: Callable[[bytes], None]) -> Iterator[Content]:
    """A file's contents, unpacked, each read before the next; `on_read` gets the bytes on disk, once, in order."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        file.seek(0)
        pieces = _read(file, on_read)
        if head.startswith(ZIP):
            for _ in pieces:  # the index is at the file's end: it is read from there, a second time
                pass
            yield from _zipped(path, file)
            return
        yield from _unpacked(str(path), pieces, LAYERS)
        for _ in pieces:  # what fills an archive's last block
            pass


def _read(file: BinaryIO, on_read: Callable[[bytes], None]) -> Iterator[bytes]:
    while True:
        with naming(Path(file.name)):
            piece = file.read(READ_BYTES)
        if not piece:
            return
        on_read(piece)
        yield piece


def _unpacked(name: str, pieces: Iterator[bytes], layers: int) -> Iterator[Content]:
    """The contents of a stream that may be compressed, or an archive, or both."""
    head = b""
    while len(head) < HEAD_BYTES and (piece := next(pieces, b"")):
        head += piece
    pieces = chain([head] if head else [], pieces)
    packed = next((codec for codec in CODECS if re.match(codec.magic, head)), None)
    is_tar = head[257:262] == b"ustar"
    if layers == 0 and (packed or is_tar):
        raise InputError(f"{name} is packed more than {LAYERS} times: {UNPACK}.")
    if packed:
        yield from _unpacked(name, _decompressed(name, pieces, packed), layers - 1)
    elif is_tar:
        yield from _archived(name, pieces, layers - 1)
    else:
        yield Content(name, pieces)


def _decompressed(name: str, pieces: Iterator[bytes], codec: Codec) -> Iterator[bytes]:
    """The content of a compressed stream: several streams one after another, then zeros, as a tape leaves them."""
    machine = codec.new()
    for piece in pieces:
        for start in range(0, len(piece), UNPACK_BYTES):
            rest = piece[start : start + UNPACK_BYTES]
            while rest := rest.lstrip(b"\0") if machine.eof else rest:
                if machine.eof:
                    machine = codec.new()
                try:
                    content = machine.decompress(rest)
                except codec.damaged as error:
                    raise damaged(name, error) from None
                yield content
                rest = machine.unused_data if machine.eof else b""
    if not machine.eof:
        raise InputError(f"{name} is cut off: the compressed data ends too early; get it again.")


def damaged(name: str | Path, error: Exception) -> InputError:
    """The error for a file that cannot be unpacked or read."""
    return InputError(f"{name} is damaged ({first_line(error)}); get it again.")


class _Stream:
    """Pieces as a file that is read once; `end` is the place behind the last byte that is not zero."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._taken = 0
        self.end = 0

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
            if filled := len(piece.rstrip(b"\0")):
                self.end = self._taken + filled
            self._taken += len(piece)
        content, self._rest = self._rest[:size], self._rest[size:]
        return content


def _archived(name: str, pieces: Iterator[bytes], layers: int) -> Iterator[Content]:
    stream = _Stream(pieces)
    try:
        with tarfile.open(fileobj=stream, mode="r|", bufsize=READ_BYTES) as archive:  # type: ignore[call-overload]
            for member in archive:
                if member.isreg() and (file := archive.extractfile(member)) is not None:
                    content = iter(partial(file.read, READ_BYTES), b"")
                    yield from _unpacked(f"{name}:{printable(member.name)}", content, layers)
            while stream.read(READ_BYTES):
                pass
            if stream.end > archive.offset:  # tarfile takes a damaged header for the end
                raise tarfile.ReadError("what follows the last file is no end of an archive")
    except tarfile.TarError as error:
        raise damaged(name, error) from None


def _zipped(path: Path, file: BinaryIO) -> Iterator[Content]:
    try:
        with zipfile.ZipFile(file) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if any(member.filename == "[Content_Types].xml" for member in members):
                raise InputError(f"{path} is an Office file, not a text of lines: {AS_TEXT}.")
            for member in members:
                name = f"{path}:{printable(member.filename)}"
                if member.flag_bits & 1:
                    raise InputError(f"{name} is encrypted: {UNPACK} with its password.")
                with archive.open(member) as content:
                    yield from _unpacked(name, iter(partial(content.read, READ_BYTES), b""), LAYERS - 1)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError) as error:
        raise damaged(path, error) from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # not a place before the file's start, nor bytes that are no bzip2
            raise
        raise damaged(path, error) from None
    except NotImplementedError as error:
        raise InputError(f"{path} is compressed in a way that is not known here ({error}): {UNPACK}.") from None


def printable(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 become question marks."""
    return name.encode(errors="replace").decode()
