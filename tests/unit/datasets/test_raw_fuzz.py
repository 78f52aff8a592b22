"""Any bytes as raw files: the project's own error or a count that adds up, never anything else."""

import bz2
import gzip
import lzma
import re
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
import zstandard
from hypothesis import given, settings

from llp.datasets import criteo_ctr, criteo_sscl
from llp.datasets.reading import texts, unpack
from llp.datasets.staging import progress_bars, stage
from llp.errors import InputError
from tests.helpers.raw import tarred, zipped

CTR_LINE = b"\t".join([b"1", *(b"%d" % i for i in range(-2, 11)), *(b"%08x" % (7**i % 2**32) for i in range(25)), b""])
SSCL_LINE = b"\t".join(
    [b"1", b"12.5", b"60", b"1596439471", b"-1", b"3.25", *(b"%032X" % i for i in range(14)), b"A B", b"C", b"D"]
)
LAYOUTS = {
    "ctr": (criteo_ctr.LAYOUT, CTR_LINE),
    "sscl": (criteo_sscl.LAYOUT, SSCL_LINE),
    "new ctr": (criteo_ctr.LAYOUT.of_new_rows(), CTR_LINE.partition(b"\t")[2]),
    "new sscl": (criteo_sscl.LAYOUT.of_new_rows(), SSCL_LINE.split(b"\t", 2)[2]),
}
PIECES = [
    *(b"", b"\t", b",", b"\n", b"\r\n", b"\r", b"\n\n", b'"', b'""', b"\0", b" ", b"-1", b"1e39", b"nan", b"9" * 400),
    *(b"label", b"sale", b"Id,", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"#", b"7", b"\x1a", b"'", b";", b"|", b"NA"),
]


def header(layout, separator):
    return separator.join(name.encode() for name in layout.names if name not in layout.may_lack)


@st.composite
def raw_bytes(draw, name):
    """Some lines of a format with something done to them, as a plain file or packed."""
    layout, line = LAYOUTS[name]
    separator = draw(st.sampled_from([b"\t", b"\t", b",", b";"]))
    values = st.sampled_from([line, line, line, header(layout, b"\t"), b"", line[:-7], line + b"\t1"])
    text = b"\n".join(draw(st.lists(values, max_size=6)))
    if draw(st.booleans()):
        text = header(layout, b"\t") + b"\n" + text
    text = text.replace(b"\t", separator) + draw(st.sampled_from([b"", b"\n", b"\n\n", b"\r\n"]))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 3))
        new = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3)))
        text = text[:place] + new + text[place + cut :]
    return text


def packed_by(pack):
    return lambda text: pack({"a.txt": text})


PACKED = [bytes, bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.compress]
PACKED += [packed_by(zipped), packed_by(tarred)]


@st.composite
def files(draw, name):
    """A file's bytes, and its lines where they are whole: None for one that was damaged after it was packed."""
    text = draw(raw_bytes(name))
    content = draw(st.sampled_from(PACKED))(text)
    damage = draw(st.sampled_from([None, None, "cut", "flip", "more"])) if content != text else None
    if damage == "cut":
        content = content[: draw(st.integers(0, len(content)))]
    elif damage == "flip":
        place = draw(st.integers(0, len(content) - 1))
        content = content[:place] + bytes([content[place] ^ draw(st.integers(1, 255))]) + content[place + 1 :]
    elif damage == "more":
        content += draw(st.binary(min_size=1, max_size=20))
    return content, None if damage else text


def lines_of(text):
    """The lines of a text by a rule of its own: any line end, no blank last lines."""
    text = text.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    return re.split(rb"\r*\n" if b"\n" in text else rb"\r", text)


def check(name, content, text):
    layout, _ = LAYOUTS[name]
    with tempfile.TemporaryDirectory() as folder, progress_bars() as progress:
        (Path(folder) / "raw").write_bytes(content)
        parts = Path(folder) / "parts"
        parts.mkdir()
        raw = [str(Path(folder) / "raw")]
        message = ""
        try:
            staged = stage(raw, layout, lambda frame: frame, errors="skip", folder=parts, progress=progress)
        except InputError as error:
            message = str(error)
    assert "\n" not in message
    if text is not None and not message:
        lines = lines_of(text)
        names = int(any(name in lines[0].lower() for name in (b"label", b"sale", b"n1", b"user_id")))
        assert staged.rows + staged.bad_lines.count in (len(lines), len(lines) - names)
        assert bool(staged.bad_lines.shown) == (staged.bad_lines.count > 0)


FOR_MINUTES = pytest.param(4000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])


@pytest.mark.parametrize("examples", [30, FOR_MINUTES])
@pytest.mark.parametrize("name", LAYOUTS)
def test_any_bytes_are_read_or_refused(name, examples, monkeypatch):
    monkeypatch.setattr(texts, "BLOCK_BYTES", 600)
    monkeypatch.setattr(unpack, "READ_BYTES", 250)

    @settings(max_examples=examples, deadline=None)
    @given(files(name))
    def fuzz(file):
        check(name, *file)

    fuzz()
