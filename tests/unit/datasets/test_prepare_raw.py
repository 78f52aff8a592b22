"""Raw files to tables: every way of giving them, and every way in which they can be wrong."""

import shutil

import pytest

from benchmarks import raw_synthetic
from llp.datasets.published import compare, published_sizes
from llp.datasets.reading import texts, unpack
from llp.errors import InputError
from tests.helpers.raw import prepare_ctr, prepare_sscl, write_ctr
from tests.helpers.tables import same_content

pytestmark = pytest.mark.run  # prepares data

ROWS = 3000


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    return write_ctr(tmp_path_factory.mktemp("raw") / "train.txt", ROWS, tail_values=10**6)


@pytest.fixture(scope="module")
def sscl(tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "CriteoSearchData"
    raw_synthetic.write_sscl(path, rows=4000, seed=0, vocab_fraction=0.01, sale_share=0.3)
    return path


@pytest.fixture
def prepared(tmp_path):
    def prepare(*raw, errors="stop", name="table"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        return prepare_ctr(tmp_path / name, *raw, errors=errors)

    return prepare


@pytest.fixture
def altered(tmp_path, train):
    """A copy of the raw file with some lines (from 1) replaced."""

    def write(**lines):
        text = train.read_text().splitlines()
        for number, change in lines.items():
            line = text[int(number[1:]) - 1].split("\t")
            text[int(number[1:]) - 1] = "\t".join(change(line))
        path = tmp_path / "altered.txt"
        path.write_text("\n".join(text) + "\n")
        return path

    return write


def replaced(i, value):
    return lambda fields: [*fields[: i - 1], value, *fields[i:]]


def test_several_files_are_one_dataset(prepared, train, tmp_path):
    whole = prepared(train, name="whole")
    lines = train.read_bytes().splitlines(keepends=True)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        (folder / f"part{i}.txt").write_bytes(b"".join(lines[1000 * i : 1000 * (i + 1)]))
    same_content(prepared(folder), whole)
    same_content(prepared(folder / "part*.txt"), whole)
    same_content(prepared(folder / "part0.txt", folder / "part1.txt", folder / "part2.txt"), whole)
    assert prepared(folder).schema.source["files"] == ["part0.txt", "part1.txt", "part2.txt"]


def test_blocks_and_threads_do_not_change_a_code(prepared, train, monkeypatch):
    whole = prepared(train, name="whole")
    monkeypatch.setattr(texts, "BLOCK_BYTES", 50_000)
    monkeypatch.setattr(unpack, "READ_BYTES", 7_001)
    same_content(prepared(train), whole)
    monkeypatch.setattr("llp.datasets.ordered_map.cores", lambda: 1)
    same_content(prepared(train), whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: [*f, "5"], r"altered\.txt, line 1234, column 41: the line has 41 columns instead of 40"),
        (lambda f: f[:-3], r"line 1234, column 38: the line has 37 columns instead of 40"),
        (lambda f: [""], r"line 1234, column 2: the line has 1 columns instead of 40"),
        (replaced(1, "2"), r"line 1234, column 1 \(label\): '2' is not 0 or 1"),
        (replaced(1, ""), r"line 1234, column 1 \(label\): '' is not 0 or 1"),
        (replaced(4, "1x"), r"line 1234, column 4 \(N3\): '1x' is not an integer from -100,000 up"),
        (replaced(5, "1.5"), r"line 1234, column 5 \(N4\): '1\.5' is not an integer"),
        (replaced(5, "-2000000000"), r"column 5 \(N4\): '-2000000000' is not an integer from -100,000 up"),
        (replaced(5, "-3000000000"), r"column 5 \(N4\): '-3000000000' is not an integer from -100,000 up"),
        (replaced(5, "9223372036854775808"), r"'9223372036854775808' is not an integer .* of 64 bits at most"),
        (replaced(5, "9" * 400), r"column 5 \(N4\): '9{30}\.\.\.9999' is not an integer .* of 64 bits"),
        (replaced(15, "05DB9164"), r"line 1234, column 15 \(C1\): '05DB9164' is not eight hexadecimal digits"),
        (replaced(16, "+5db9164"), r"line 1234, column 16 \(C2\)"),
        (replaced(40, "5db9164"), r"line 1234, column 40 \(C26\)"),
    ],
)
def test_a_line_that_does_not_fit_is_named(prepared, altered, change, message):
    with pytest.raises(InputError, match=message + r".*errors=skip"):
        prepared(altered(l1234=change))


def test_skip_leaves_out_the_bad_lines_and_counts_them(prepared, altered, train, tmp_path, caplog):
    path = altered(l7=lambda f: f[:-1], l8=replaced(1, "yes"), l2999=replaced(3, "?"))
    kept = [line for i, line in enumerate(train.read_text().splitlines(), start=1) if i not in (7, 8, 2999)]
    (tmp_path / "kept.txt").write_text("\n".join(kept) + "\n")
    skipped = prepared(path, errors="skip", name="skipped")
    same_content(skipped, prepared(tmp_path / "kept.txt"))
    assert skipped.schema.facts["lines_left_out"] == 3
    assert "3 line(s) left out" in caplog.text
    assert "line 2999, column 3 (N2)" in caplog.text


def test_a_file_without_any_good_line_is_refused(prepared, altered, tmp_path):
    lines = altered().read_text().splitlines()
    (tmp_path / "bad.txt").write_text("\n".join("9" + line[1:] for line in lines))
    with pytest.raises(InputError, match=r"expected lines of criteo_ctr, but all are wrong, such as: .*line 1, column"):
        prepared(tmp_path / "bad.txt", errors="skip")


def test_sscl_given_as_ctr_and_the_other_way_round(prepared, sscl, train, tmp_path):
    with pytest.raises(InputError, match=r"line 1, column 24: 23 tab-separated column\(s\), criteo_ctr has 40.*criteo"):
        prepared(sscl)
    with pytest.raises(InputError, match=r"40 tab-separated column\(s\), criteo_sscl has 23.*dataset=criteo_ctr"):
        prepare_sscl(tmp_path / "x", train)


def test_text_that_is_not_utf8_is_named(sscl, tmp_path):
    lines = sscl.read_bytes().splitlines()
    fields = lines[41].split(b"\t")
    lines[41] = b"\t".join([*fields[:-1], b"\xff\xfe"])
    (tmp_path / "bytes.txt").write_bytes(b"\n".join(lines))
    with pytest.raises(InputError, match=r"line 42, column 23 \(user_id\): .* is not text in UTF-8"):
        prepare_sscl(tmp_path / "x", tmp_path / "bytes.txt")


def test_published_facts_tell_the_full_file():
    sizes = dict(published_sizes("ctr"))
    exact = {"full_rows": 45_840_617, "tolerance": 0}
    assert compare("ctr", 45_840_617, sizes, **exact).startswith("the full published file")
    assert compare("ctr", 10**6, sizes, **exact).startswith("as from a part")
    assert "C9 has 4 codes (published 3)" in compare("ctr", 10**6, sizes | {"C9": 4}, **exact)
    assert "C9 has 2 codes (published 3)" in compare("ctr", 45_840_617, sizes | {"C9": 2}, **exact)
    assert compare("ctr", 45_840_618, sizes, **exact).startswith("not the published file")
