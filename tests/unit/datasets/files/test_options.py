"""Options of own files that contradict each other or cannot be: refused before a file is opened."""

import pytest

from llp.datasets.files.options import check_files_options
from llp.errors import InputError
from tests.helpers.own_files import default_options

ROLES = {"label": "y"}

REFUSED = {
    "a codec from text to text": ({"encoding": "rot13"}, r"^Invalid encoding='rot13': expected a text encoding, such"),
    "a codec of bytes": ({"encoding": "base64"}, r"^Invalid encoding='base64': expected a text encoding"),
    "an unknown codec": ({"encoding": "latin-77"}, r"^Invalid encoding='latin-77': expected a text encoding"),
    "a codec with a zero byte": ({"encoding": "a\0b"}, r"^Invalid encoding='a.*': expected a text encoding"),
    "a quote beyond ASCII": ({"quote": "ö"}, r"^Invalid quote='ö': expected one character of ASCII, or none"),
    "a separator beyond ASCII": ({"separator": "§"}, r"^Invalid separator='§': expected one character of ASCII"),
    "a quote that separates": ({"quote": ";", "separator": "semicolon"}, r"^Invalid quote=';': separator=semicolon is"),
    "one mark for two things": ({"decimal": "comma", "thousands": "comma"}, r"^Invalid thousands=comma: decimal=comma"),
    "the label as weight": ({"weight_column": "y"}, r"^Invalid weight_column=y: the column stands in label= too; name"),
    "the label as id": ({"id_column": "y"}, r"^Invalid id_column=y: the column stands in label= too; name it once$"),
    "the label as bag": ({"bag_column": "y"}, r"^Invalid bag_column=y: the column stands in label= too"),
    "the label left out": ({"ignore": ["y"]}, r"^Invalid ignore=y: the column stands in label= too"),
    "the label as a feature": ({"numeric": ["y"]}, r"^Invalid numeric=y: the column stands in label= too"),
    "the id as weight": ({"id_column": "a", "weight_column": "a"}, r"^Invalid weight_column=a: .* stands in id_colu"),
    "the bag as id": ({"id_column": "a", "bag_column": "a"}, r"^Invalid bag_column=a: the column stands in id_column="),
    "two kinds": ({"numeric": ["a"], "dates": ["a"]}, r"^Invalid dates=a: the column stands in numeric= too"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_options_that_cannot_be_are_refused(case):
    given, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        check_files_options(default_options(**ROLES | given))
