"""Lines of raw files: one fits or not, whatever stands around it, and none is lost without a word."""

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from llp.datasets.reading.files import Block, Dialect, Field
from llp.datasets.reading.layout import Layout
from llp.datasets.reading.lines import parse

pytestmark = pytest.mark.run  # prepares data

# every kind of column, in each separator
FIELDS = (
    Field("label", "0/1"),
    Field("N1", "whole"),
    Field("x", "number"),
    Field("C1", "hex"),
    Field("t", "text"),
    Field("C2", "hex"),
)


def layout_of(fields):
    return Layout("made", fields, spellings={}, others={})


def verdicts(lines, dialect):
    """The rows that are read from lines in one block, and the numbers of the lines that are not."""
    text = b"".join(line + b"\n" for line in lines)
    frame, messages = parse(Block("f", 1, text, dialect), layout_of(dialect.fields))
    bad = [int(message.split("line ")[1].split(",")[0]) - 1 for message in messages]
    assert frame.height + len(bad) == len(lines)
    return frame.rows(), bad


GOOD = (b"1", b"-3", b"0.5", b"0a1b2c3d", b"a word", b"")
# what polars, Python or the format itself take for a value, or nearly
NUMBERS = [
    *(b"0", b"1", b"-0", b"+1", b"01", b"1.0", b"1.", b".5", b"1e3", b"1E+3", b"5e-1", b"1e39", b"-1e39", b"3.5e38"),
    *(b"1e400", b"1e-400", b"-100000", b"-100001", b"-2147483649", b"9223372036854775807", b"9223372036854775808"),
    *(b"9" * 400, b"-" + b"9" * 400, b"2e9", b" 1", b"1 ", b"\t1", b"1\r", b"inf", b"-inf", b"nan", b"NaN", b"NA"),
    *(b"null", b"True", b"0x10", b"1_0", b"1f", b"1d5", b"--1", b"1.5.2", b"e5", b"1e", b"-", b"+", b".", b"", b" "),
    *(b"\xef\xbc\x91", b'"1"', b'"', b'""', b"1,5"),
]
HEXES = [
    *(b"0a1b2c3d", b"0A1B2C3D", b"+a1b2c3d", b"-a1b2c3d", b"0x1b2c3d", b"0a1b2c3", b"0a1b2c3d0", b" " * 8, b"0" * 8),
]
TEXTS = [
    *(b"a", b" a ", b"\xff", b"\xc3\xa4", b"\xed\xa0\x80", b"\x00", b"a\rb", b"\r", b"a\r", b'"a"', b'a"b', b"#"),
    *(b"\\N", b"\xef\xbb\xbf"),
]
values = st.one_of(
    st.sampled_from(NUMBERS + HEXES + TEXTS),
    st.text("0123456789abcdefABCDEFxX+-.,_ \t\r\"'naNiI", max_size=10).map(str.encode),
    st.binary(max_size=6),
).map(lambda value: value.replace(b"\n", b""))
mostly_good = st.tuples(*(st.one_of(st.just(good), st.just(good), values) for good in GOOD))


def lines(separator):
    joined = mostly_good.map(separator.join)
    return st.lists(st.one_of(joined, joined, st.binary(max_size=20)), min_size=1, max_size=8).map(
        lambda found: [line.replace(b"\n", b"") for line in found]
    )


def check_neighbours(separator, found, order, cuts):
    """Lines alone, in any order and cut into any blocks have the same fate and the same values."""
    dialect = Dialect(separator, FIELDS, None)
    alone = [verdicts([line], dialect)[0] for line in found]
    rows, bad = verdicts(found, dialect)
    assert rows == [row for one in alone for row in one]
    assert bad == [i for i, one in enumerate(alone) if not one]
    shuffled = [found[i % len(found)] for i in order]
    rows, bad = [], []
    for start, stop in zip([0, *cuts], [*cuts, len(shuffled)], strict=True):
        some, wrong = verdicts(shuffled[start:stop], dialect)
        rows += some
        bad += [start + i for i in wrong]
    assert rows == [row for i in order for row in alone[i % len(found)]]
    assert bad == [place for place, i in enumerate(order) if not alone[i % len(found)]]


@pytest.mark.parametrize("separator", [b"\t", b",", b";", b"|"])
def test_each_value_fits_or_not_the_same_in_a_clean_block_and_in_a_bad_one(separator):
    """Polars reads clean blocks, Python decides where one is not clean: they must agree."""
    values = [value for value in NUMBERS + HEXES + TEXTS if separator not in value]
    places = itertools.product(range(len(FIELDS)), values)
    found = [separator.join([*GOOD[:place], value, *GOOD[place + 1 :]]) for place, value in places]
    check_neighbours(separator, [b"no line of this format", *found], range(len(found)), [])


@st.composite
def arrangements(draw):
    separator = draw(st.sampled_from([b"\t", b",", b";", b"|"]))
    found = draw(lines(separator))
    order = draw(st.lists(st.integers(0, 7), min_size=1, max_size=12))
    cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1), max_size=3))) if len(order) > 1 else []
    return separator, found, order, cuts


@settings(max_examples=40, deadline=None)
@given(arrangements())
@example((b"\t", [b"1\t1e3\t0\t\t\t", b"junk"], [0, 1], []))
@example((b"\t", [b"1\t+5\t0\t\t\t", b"junk"], [0, 1], []))
@example((b",", [b"1,\t5,0,,,", b"junk"], [0, 1], []))
def test_the_fate_of_a_line_does_not_depend_on_its_neighbours(arrangement):
    check_neighbours(*arrangement)
