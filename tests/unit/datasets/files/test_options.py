"""Options of own files that contradict each other or cannot be: refused before a file is opened."""

import itertools

import pytest

from llp.datasets.files.options import check_files_options
from llp.errors import InputError
from tests.helpers.own_files import default_options

REFUSED = {
    "a codec from text to text": ({"encoding": "rot13"}, r"^Invalid encoding='rot13': expected a text encoding, such"),
    "a codec of bytes": ({"encoding": "base64"}, r"^Invalid encoding='base64': expected a text encoding"),
    "an unknown codec": ({"encoding": "latin-77"}, r"^Invalid encoding='latin-77': expected a text encoding"),
    "a codec with a zero byte": ({"encoding": "a\0b"}, r"^Invalid encoding='a.*': expected a text encoding"),
    "a quote beyond ASCII": ({"quote": "ö"}, r"^Invalid quote='ö': expected one character of ASCII, or none"),
    "a separator beyond ASCII": ({"separator": "§"}, r"^Invalid separator='§': expected one character of ASCII"),
    "a quote that separates": ({"quote": ";", "separator": "semicolon"}, r"^Invalid quote=';': separator=semicolon is"),
    "one mark for two things": ({"decimal": "comma", "thousands": "comma"}, r"^Invalid thousands=comma: decimal=comma"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_options_that_cannot_be_are_refused(case):
    given, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        check_files_options(default_options(label="y", **given))


ROLES = ("label", "id_column", "weight_column", "bag_column", "ignore", "categorical", "numeric", "dates")


@pytest.mark.parametrize(("one", "other"), itertools.combinations(ROLES, 2))
def test_a_column_with_two_roles_is_refused(one, other):
    given = {role: "a" if role in ROLES[:4] else ["a"] for role in (one, other)}
    with pytest.raises(InputError, match=rf"^Invalid {other}=a: the column stands in {one}= too; name it once$"):
        check_files_options(default_options(**{"label": "y"} | given))
