"""Raw files as they come: each form is read right, or refused with what it is and what to do."""

import bz2
import functools
import gzip
import itertools
import lzma
import os
import random
import struct

import pytest
import zstandard

from llp.datasets.reading import texts
from llp.errors import InputError
from tests.helpers.raw import CTR_NAMES as NAMES
from tests.helpers.raw import SSCL_NAMES, prepare_sscl, tarred, write_ctr, zipped
from tests.helpers.raw import prepare_ctr as prepare
from tests.helpers.tables import same_content

pytestmark = pytest.mark.run  # prepares data


class Raw:
    """A folder, and the lines of a raw file that may be written into it in many forms."""

    def __init__(self, folder, content):
        self.folder = folder
        self.content = content
        self.rows = [line.split("\t") for line in content.decode().splitlines()]

    def file(self, content, name="train.txt"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def text(self, header=None, *, separator=",", rows=None, end="\n"):
        lines = ([header] if header else []) + (self.rows if rows is None else rows)
        return "".join(separator.join(line) + end for line in lines).encode()

    def behind(self, *values):
        """The rows, each behind some values."""
        return [[*values, *row] for row in self.rows]

    def written(self, number):
        """The rows with their label and numbers written by a pattern."""
        return [[number.format(value) if value else "" for value in row[:14]] + row[14:] for row in self.rows]

    def download(self):
        """What a download holds beside the data."""
        unlabelled = self.text(separator="\t", rows=[row[1:] for row in self.rows])
        return {"dac/readme.txt": b"Terms ...\n", "dac/test.txt": unlabelled, "dac/train.txt": self.content}

    def in_folder(self, files):
        for name, content in files.items():
            self.file(content, f"raw/{name}")
        return self.folder / "raw"

    def quoted(self, rows):
        return [[row[0], *row[1:14], *(f'"{value}"' for value in row[14:])] for row in rows]


def shuffled(raw, names):
    order = random.Random(0).sample(range(40), 40)
    return raw.text([names[i] for i in order], rows=[[row[i] for i in order] for row in raw.rows])


def numbered(label, number, first_number, category, first_category):
    """Names of the columns by patterns, counted from a first number each."""
    numbers, categories = (range(first, first + n) for first, n in ((first_number, 13), (first_category, 26)))
    return [label, *map(number.format, numbers), *map(category.format, categories)]


def encrypted(raw):
    content = bytearray(zipped({"train.txt": raw.content}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def misplaced(archive):
    """A zip file whose end says that its directory begins later than it does: its files begin before the first byte."""
    end = len(archive) - 22
    return archive[: end + 16] + struct.pack("<L", struct.unpack_from("<L", archive, end + 16)[0] + 8) + archive[-2:]


def damaged_header(raw):
    content = bytearray(tarred(dict(zip(["a.txt", "b.txt"], halves(raw), strict=True))))
    place = content.index(b"b.txt")
    content[place : place + 100] = b"\xff" * 100
    return bytes(content)


def halves(raw):
    half = raw.content.index(b"\n", len(raw.content) // 2) + 1
    return raw.content[:half], raw.content[half:]


def fifo(raw):
    os.mkfifo(raw.folder / "pipe")
    return raw.folder / "pipe"


def linked(raw):
    (raw.folder / "link").symlink_to(raw.file(raw.content))
    return raw.folder / "link"


# how a raw file may be written, each with the same rows: its content, or what makes it in a folder and returns raw=
READ = {
    "Kaggle's CSV with an Id column": lambda r: r.text(
        ["Id", "Label", *NAMES[1:]], rows=[[str(10**7 + i), *row] for i, row in enumerate(r.rows)]
    ),
    "CSV of pandas with its index": lambda r: r.text(["", *NAMES], rows=r.behind("7")),
    "an index saved twice, and an Id": lambda r: r.text(["Unnamed: 0", "id", *NAMES], rows=r.behind("1", "7")),
    "CSV of pandas without names": lambda r: r.text([str(i) for i in range(40)]),
    "Spark's names": lambda r: r.text([f"_c{i}" for i in range(40)]),
    "R's names": lambda r: r.text([f"V{i + 1}" for i in range(40)]),
    "a BOM": lambda r: b"\xef\xbb\xbf" + r.content,
    "a BOM and a header": lambda r: b"\xef\xbb\xbf" + r.text(NAMES),
    "R's write.csv": lambda r: r.text([f'"{name}"' for name in NAMES], rows=r.quoted(r.rows)),
    "R's write.table with the rows' names": lambda r: r.text(
        NAMES, separator="\t", rows=[[f'"{i}"', *row] for i, row in enumerate(r.quoted(r.rows), 1)]
    ),
    "every value quoted": lambda r: r.text(rows=[[f'"{v}"' for v in row] for row in r.rows]),
    "UTF-16 with its mark": lambda r: r.content.decode().encode("utf-16"),
    "UTF-16 the other way round": lambda r: b"\xfe\xff" + r.content.decode().encode("utf-16-be"),
    "UTF-32 with its mark": lambda r: r.content.decode().encode("utf-32"),
    "a blank last line": lambda r: r.content + b"\n",
    "many blank last lines": lambda r: r.content + b"\n" * 5000,
    "Windows' line ends and blank last lines": lambda r: r.text(separator="\t", end="\r\n") + b"\r\n\r\n",
    "bare carriage returns": lambda r: r.text(separator="\t", end="\r"),
    "bare carriage returns, none at the end": lambda r: r.text(separator="\t", end="\r")[:-1],
    "no last line feed": lambda r: r.content[:-1],
    "semicolons": lambda r: r.text(separator=";"),
    "bars and a header": lambda r: r.text(NAMES, separator="|"),
    "numbers padded with spaces": lambda r: r.text(rows=[[f"{v:>3}" for v in row[:14]] + row[14:] for row in r.rows]),
    "numbers as decimals": lambda r: r.text(rows=r.written("{}.0")),
    "numbers with exponents": lambda r: r.text(rows=r.written("{}00e-2")),
    "columns in another order": lambda r: shuffled(r, NAMES),
    "names of the readme": lambda r: r.text(
        numbered("<label>", "<integer feature {}>", 1, "<categorical feature {}>", 1), separator="\t"
    ),
    "names with underscores, from 0": lambda r: r.text(numbered("label", "int_{}", 0, "cat_{}", 0)),
    "names that count on": lambda r: r.text(numbered("Clicked", "int-feature-{}", 1, "categorical-feature-{}", 14)),
    "the paper's names": lambda r: r.text([name.replace("I", "N").upper() for name in NAMES]),
    "gzip": lambda r: gzip.compress(r.content),
    "gzip in two members with zeros behind": lambda r: b"".join(gzip.compress(half) + bytes(700) for half in halves(r)),
    "gzip in gzip": lambda r: gzip.compress(gzip.compress(r.content)),
    "bzip2, two streams": lambda r: b"".join(map(bz2.compress, halves(r))),
    "xz, padded": lambda r: lzma.compress(r.content) + bytes(8),
    "lzma": lambda r: lzma.compress(r.content, lzma.FORMAT_ALONE),
    "Zstandard after a frame to be skipped": lambda r: (
        struct.pack("<II", 0x184D2A50, 4) + b"pzst" + b"".join(map(zstandard.compress, halves(r)))
    ),
    "zip": lambda r: zipped({"train.txt": r.content}),
    "zip of the download": lambda r: zipped(r.download()),
    "zip made by macOS": lambda r: zipped({"train.txt": r.content, "__MACOSX/._train.txt": b"\0", ".DS_Store": b"\0"}),
    "zip of a gzip": lambda r: zipped({"train.csv.gz": gzip.compress(r.text(NAMES))}),
    "zip of two parts": lambda r: zipped(dict(zip(["a.txt", "b.txt"], halves(r), strict=True))),
    "tar of the download": lambda r: tarred(r.download()),
    "tar.gz of the download": lambda r: gzip.compress(tarred(r.download())),
    "tar.bz2": lambda r: bz2.compress(tarred(r.download())),
    "tar.xz": lambda r: lzma.compress(tarred(r.download())),
    "tar.zst": lambda r: zstandard.compress(tarred(r.download())),
    "tar of gzips": lambda r: tarred({f"{i}.gz": gzip.compress(half) for i, half in enumerate(halves(r))}),
    "the unpacked folder": lambda r: r.in_folder({name[4:]: content for name, content in r.download().items()}),
    "the unpacked folder as a glob": lambda r: r.in_folder({n[4:]: c for n, c in r.download().items()}) / "*",
    "Kaggle's folder": lambda r: r.in_folder(
        {
            "train.csv": r.text(["Id", *NAMES], rows=[[str(i), *row] for i, row in enumerate(r.rows)]),
            "test.csv": r.text(["Id", *NAMES[1:]], rows=[[str(i), *row[1:]] for i, row in enumerate(r.rows)]),
            "random_submission.csv": b"Id,Predicted\n60000000,0.5\n",
        }
    ),
    "Spark's folder": lambda r: r.in_folder(
        {"_SUCCESS": b"", ".0.csv.crc": b"crc", "0.csv": halves(r)[0], "1.csv": halves(r)[1], "2.csv": b""}
    ),
    "a folder with checksums": lambda r: r.in_folder({"train.txt": r.content, "SHA256SUMS": b"ab\n", "a.md5": b"x"}),
    "a link": linked,
    "a name that is no UTF-8": lambda r: r.file(r.content, os.fsdecode(b"tr\xe4in.txt")),
    "a name with brackets": lambda r: r.file(r.content, "train[1].txt"),
}


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    return write_ctr(tmp_path_factory.mktemp("raw") / "train.txt", 300, tail_values=10**6).read_bytes()


@pytest.fixture
def raw(tmp_path, content):
    (tmp_path / "in").mkdir()
    return Raw(tmp_path / "in", content)


@pytest.fixture(scope="module")
def plain(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "train.txt").write_bytes(content)
    return prepare(folder / "table", folder / "train.txt")


@pytest.mark.parametrize("form", READ)
def test_a_form_is_read_right(raw, plain, tmp_path, form):
    made = READ[form](raw)
    table = prepare(tmp_path / "table", raw.file(made) if isinstance(made, bytes) else made, errors="skip")
    same_content(table, plain)
    assert table.schema.facts["lines_left_out"] == 0  # so nothing would have been refused


# what is refused: what makes it, and the message
REFUSED = {
    "a file named twice": (lambda r: [r.file(r.content)] * 2, r"names .*train\.txt twice .*; expected each file once"),
    "a file and its folder": (lambda r: [r.file(r.content), r.folder], r"names .*train\.txt twice"),
    "a file and a link to it": (lambda r: [linked(r), r.folder / "train.txt"], r"train\.txt twice \(.*link\)"),
    "a copy of a file": (lambda r: [r.file(r.content, one) for one in "ab"], r"b holds the same lines as .*a: name"),
    "the download beside what was unpacked": (
        lambda r: r.in_folder({"dac.tar.gz": gzip.compress(tarred(r.download())), "train.txt": r.content}),
        r"train\.txt holds the same lines as .*dac\.tar\.gz:dac/train\.txt: name one of them alone",
    ),
    "unknown names in another order": (
        lambda r: shuffled(r, [f"feature {name}" for name in NAMES]),
        r"line 1 names 'feature .*', which is no column of criteo_ctr: name the columns label, N1, \.\.\., C26, or",
    ),
    "one unknown name": (lambda r: r.text([*NAMES[:-1], "extra"]), r"line 1 names 'extra', which is no colu"),
    "a column too many": (lambda r: r.text(["fold", *NAMES], rows=r.behind("1")), r"names 'fold', which is no column"),
    "a name twice": (lambda r: r.text([*NAMES[:-1], "C25"]), r"line 1 names no column C26"),
    "a label twice": (lambda r: r.text(["click", *NAMES], rows=r.behind("1")), r"line 1 names label twice"),
    "Kaggle's unlabelled test file": (
        lambda r: r.text(["Id", *NAMES[1:]], rows=[["1", *row[1:]] for row in r.rows]),
        r"line 1 names no column label \(the unlabelled test file has none\)",
    ),
    "the unlabelled test file": (lambda r: r.download()["dac/test.txt"], r"39 tab-separated column\(s\), .*"),
    "names below the first line": (
        lambda r: b"# made by hand\n" + shuffled(r, NAMES),
        r"line 2 names the columns: only a file's first line may; remove what is above",
    ),
    "nothing but names": (lambda r: r.text(NAMES, rows=[]), r"train\.txt: expected lines of criteo_ctr, but"),
    "an unknown column without names": (
        lambda r: r.text(rows=r.behind("7")),
        r"line 1, column 41: 41 comma-separated column\(s\), criteo_ctr has 40",
    ),
    "spaces between values": (lambda r: r.text(separator=" "), r"line 1, column 2: 1 tab-separated column"),
    "an empty folder": (lambda r: r.folder, r"the folder holds no file"),
    "a folder of folders": (lambda r: r.file(r.content, "dac/train.txt").parents[1], r"no file, but folders; expect"),
    "a folder without data": (
        lambda r: r.in_folder({"readme.txt": b"x", "part": b""}),
        r"no data among the files: .*part \(empty\), .*readme\.txt \(no data by its name\)",
    ),
    "a folder with something else": (
        lambda r: r.in_folder({"a": r.content, "x": b"a\tb\n"}),
        r"x, line 1, column 3: 2 tab",
    ),
    "an empty zip": (lambda r: zipped({}), r"no data among the files: nothing in .*train\.txt"),
    "an empty tar": (lambda r: tarred({}), r"is a binary file, not a text of lines"),
    "an empty name": (lambda r: "", r"Invalid raw=: expected the path"),
    "a name with a zero byte": (lambda r: "a\0b", r"no such file"),
    "a user without a home": (lambda r: "~nobody-by-this-name/x", r"no such file"),
    "an address": (lambda r: "https://example.org/train.txt", r"expected the path of a file that was downloaded"),
    "a pipe": (fifo, r"pipe: it is a pipe or a device; expected the path of a file"),
    "a device": (lambda r: "/dev/zero", r"is a pipe or a device"),
    "nothing but a BOM": (lambda r: b"\xef\xbb\xbf", r"train\.txt is empty"),
    "nothing but blank lines": (lambda r: b"\r\n\n\n", r"train\.txt is empty"),
    "zero bytes": (lambda r: bytes(5000), r"is a binary file, not a text of lines: write it as CSV"),
    "Parquet": (lambda r: b"PAR1\x15\x04", r"is a Parquet file, not a text of lines: write it as CSV"),
    "Arrow in gzip": (lambda r: gzip.compress(b"ARROW1\0\0"), r"is an Arrow file"),
    "JSON": (lambda r: b'{"label": 1}\n', r"is a JSON file"),
    "ARFF": (lambda r: b"@relation x\n@data\n", r"is an ARFF file"),
    "HDF5": (lambda r: b"\x89HDF\r\n\x1a\n", r"is an HDF5 file"),
    "a NumPy array": (lambda r: b"\x93NUMPY\x01\0", r"is a NumPy file"),
    "SQLite": (lambda r: b"SQLite format 3\0", r"is an SQLite database"),
    "an Office file": (
        lambda r: zipped({"[Content_Types].xml": b"<x/>", "xl/a.xml": b""}),
        r"is an Office file, not a text of lines: write it as CSV",
    ),
    "a web page": (lambda r: b"\n<!DOCTYPE html><html>", r"is a web page, .*download the data again"),
    "a pointer of Git LFS": (lambda r: b"version https://git-lfs.github.com/spec/v1\n", r"git lfs pull"),
    "7z": (lambda r: b"7z\xbc\xaf\x27\x1c\0", r"is a 7z archive, not a text of lines: unpack it"),
    "RAR": (lambda r: b"Rar!\x1a\x07", r"is a RAR archive"),
    "compress": (lambda r: b"\x1f\x9d\x90", r"is a file of compress \(\.Z\)"),
    "LZ4": (lambda r: b"\x04\x22\x4d\x18", r"is an LZ4 file"),
    "a zip in a tar": (
        lambda r: tarred({"a.zip": zipped({"train.txt": r.content})}),
        r"a\.zip is a zip file inside another file: unpack it first",
    ),
    "names with a blank": (lambda r: r.text([*NAMES[:20], "", *NAMES[21:]]), r"line 1 names no column C7"),
    "names with two blanks": (lambda r: r.text(["", *NAMES[1:30], "", *NAMES[31:]]), r"line 1 names no column"),
    "the label's name blank": (lambda r: r.text(["", *NAMES[1:]]), r"line 1 names no column label"),
    "half of the names": (lambda r: r.text([*NAMES[:30], *"abcdefghij"]), r"line 1 names 'a', which is no"),
    "most names blank": (lambda r: r.text([*NAMES[:22], *[""] * 18]), r"line 1 names no column"),
    "numbers for names, two exchanged": (
        lambda r: r.text(["0", "2", "1", *map(str, range(3, 40))]),
        r"line 1 numbers the columns, not from 0 or 1 in their order",
    ),
    "numbers for names, backwards": (lambda r: r.text([f"V{i}" for i in range(40, 0, -1)]), r"numbers the columns"),
    "numbers for names, one blank": (lambda r: r.text(["0", "", *map(str, range(2, 40))]), r"numbers the columns"),
    "numbers for names, one twice": (lambda r: r.text(["0", "0", *map(str, range(2, 40))]), r"numbers the columns"),
    "an encrypted zip": (encrypted, r"train\.txt is encrypted: unpack it with its password"),
    "a zip cut off": (lambda r: zipped({"train.txt": r.content})[:-100], r"is damaged \(.*\); get it again"),
    "a zip whose directory says another place": (
        lambda r: misplaced(zipped({"train.txt": r.content})),
        r"is damaged \(.*\); get it again",
    ),
    "a tar cut off": (lambda r: tarred({"train.txt": r.content})[:30000], r"is damaged \(.*\); get it ag"),
    "a tar with a damaged header": (damaged_header, r"is damaged \(what follows"),
    "bzip2 cut off": (lambda r: bz2.compress(r.content)[:-9], r"is cut off: the compressed data ends too ea"),
    "gzip cut off": (lambda r: gzip.compress(r.content)[:-900], r"is cut off: the compressed data ends too"),
    "Zstandard cut off": (lambda r: zstandard.compress(r.content)[:-900], r"is cut off"),
    "gzip with zeros for its second half": (
        lambda r: (packed := gzip.compress(r.content))[: len(packed) // 2] + bytes(len(packed) // 2),
        r"train\.txt is (damaged|cut off)",
    ),
    "an empty file": (lambda r: b"", r"train\.txt is empty"),
    "nothing packed": (lambda r: gzip.compress(b""), r"train\.txt is empty"),
    "xz cut off": (lambda r: lzma.compress(r.content)[:-9], r"is cut off"),
    "gzip followed by text": (lambda r: gzip.compress(r.content) + r.content, r"is damaged \(.*\); get it again"),
    "bzip2 followed by text": (lambda r: bz2.compress(r.content) + r.content, r"is damaged"),
    "xz followed by text": (lambda r: lzma.compress(r.content) + r.content, r"is damaged"),
    "packed five times": (
        lambda r: gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(r.content))))),
        r"is packed more than 4 times",
    ),
}


@pytest.mark.parametrize(("form", "errors"), zip(REFUSED, itertools.cycle(["stop", "skip"]), strict=False))
def test_a_form_is_refused_with_what_it_is(raw, tmp_path, form, errors):
    make, message = REFUSED[form]
    made = make(raw)
    given = made if isinstance(made, list) else [raw.file(made) if isinstance(made, bytes) else made]
    with pytest.raises(InputError, match=message) as error:
        prepare(tmp_path / "table", *given, errors=errors)
    assert "\n" not in str(error.value)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "in"]


# lines that are refused with errors=stop and counted with errors=skip; the others are read
COUNTED = {
    "a column too many in the line below the names": (
        lambda r: r.text(NAMES, rows=[[*r.rows[0], "1"], *r.rows]),
        1,
        r"line 2, column 41: the line has 41 columns instead of 40",
    ),
    "the header again in the middle": (
        lambda r: r.text(NAMES, rows=r.rows[:150]) + r.text(NAMES, rows=r.rows[150:]),
        1,
        r"line 152, column 1 \(label\): 'label' is not 0 or 1",
    ),
    "a comment before the data": (lambda r: b"# Criteo\n" + r.content, 1, r"line 1, column 2: the line has 1 columns"),
    "a blank line in the middle": (lambda r: b"\n\n".join(halves(r)), 2, r"the line has 1 columns instead of 40"),
    "a separator in quotes": (
        lambda r: r.content + b'"\t"' + r.content[1:].partition(b"\n")[0] + b"\n",
        1,
        r"line 301, column 41",
    ),
    "a carriage return inside a line": (
        lambda r: r.content + b"0\t\r" + r.content.partition(b"\n")[0][3:] + b"\n",
        1,
        r"line 301, column 2 \(N1\): '\\r.*' is not",
    ),
    "NA for a missing value": (
        lambda r: r.content + b"0\tNA\t" + r.content.partition(b"\n")[0].split(b"\t", 2)[2] + b"\n",
        1,
        r"line 301, column 2 \(N1\): 'NA' is not an integer .* or empty",
    ),
    "the end of a file of zeros": (lambda r: r.content + bytes(100), 1, r"line 301, column 2: the line has 1 columns"),
}


@pytest.mark.parametrize("form", COUNTED)
def test_a_line_is_refused_or_counted(raw, plain, tmp_path, form):
    make, count, message = COUNTED[form]
    path = raw.file(make(raw))
    with pytest.raises(InputError, match=rf"{message}.*errors=skip"):
        prepare(tmp_path / "table", path)
    table = prepare(tmp_path / "table", path, errors="skip")
    assert table.schema.facts["lines_left_out"] == count
    same_content(table, plain)


def test_what_is_left_out_of_a_folder_is_said(raw, tmp_path, caplog):
    folder = raw.in_folder({name[4:]: content for name, content in raw.download().items()})
    table = prepare(tmp_path / "table", folder)
    assert "2 file(s) left out" in caplog.text
    assert "readme.txt (no data by its name)" in caplog.text
    assert "test.txt (the unlabelled test.txt of Criteo CTR)" in caplog.text
    assert table.schema.source["files"] == ["train.txt"]
    assert table.schema.source == prepare(tmp_path / "alone", folder / "train.txt").schema.source


def test_a_line_without_end_is_refused(raw, tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "BLOCK_BYTES", 2**10)
    monkeypatch.setattr(texts, "RECORD_BYTES", 2**20)
    with pytest.raises(InputError, match="holds a line of more than 1 MiB: it is no text of lines"):
        prepare(tmp_path / "table", raw.file(raw.content + b"1" * 2**22))


sscl = functools.partial(prepare_sscl, rare_at_most=0)
SALE = ["1", "12.5", "60", "1596439471", "-1", "3", *(f"{i:032X}" for i in range(12)), "DE", "P", "T T", "A", "U"]
NO_SALE = ["0", "-1", "-1", *SALE[3:]]


@pytest.mark.parametrize("names", [SSCL_NAMES, [name.replace("product_cat", "prod_cat") for name in SSCL_NAMES], None])
def test_sscl_is_read_by_the_names_of_its_documentation(tmp_path, names):
    lines = [SALE, NO_SALE, [*SALE[:1], "99", *SALE[2:]]]
    order = [*range(22, -1, -1)] if names else [*range(23)]
    text = "\n".join("\t".join(line[i] for i in order) for line in ([names] if names else []) + lines)
    (tmp_path / "CriteoSearchData").write_text(text)
    table = sscl(tmp_path / "table", tmp_path / "CriteoSearchData")
    assert table.label.tolist() == [12.5, 99.0]
    assert table.numeric.tolist() == [[60, 0, 3], [60, 0, 3]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([NO_SALE, NO_SALE], r"criteo_sscl keeps sales \(.* other than -1\), and none of 2 lines is one"),
        ([["1", "1e39", *SALE[2:]]], r"line 1, column 2 \(sales_amount_in_euro\): '1e39' is not a number of size 3"),
        ([[*SALE[:5], "-1e39", *SALE[6:]]], r"column 6 \(product_price\): '-1e39' is not a number of size 3\.4e\+38"),
        ([[*SALE[:5], "", *SALE[6:]]], r"column 6 \(product_price\): '' is not a number"),
        ([[*SALE[:2], "nan", *SALE[3:]]], r"column 3 \(time_delay_for_conversion\): 'nan' is not a number"),
    ],
)
def test_sscl_that_could_not_be_trained_on_is_refused(tmp_path, lines, message):
    (tmp_path / "x").write_text("".join("\t".join(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=message):
        sscl(tmp_path / "table", tmp_path / "x")


@pytest.mark.parametrize("largest", ["3.4e38", "-3.4e38", "3.4028234663852886e38"])
def test_the_largest_numbers_stay_finite_in_the_table(tmp_path, largest):
    lines = [[*SALE[:1], largest, *SALE[2:5], largest, *SALE[6:]], SALE]
    (tmp_path / "x").write_text("".join("\t".join(line) + "\n" for line in lines))
    table = sscl(tmp_path / "table", tmp_path / "x")
    assert table.label[0] == pytest.approx(float(largest), rel=1e-6)
    assert table.numeric[0, 2] == table.label[0]
