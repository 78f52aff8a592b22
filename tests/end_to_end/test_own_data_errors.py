"""Fifty ways to hand over wrong files, bags and arrays: one clear line each, and nothing is left behind."""

import gzip
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from llp import BagKFold, LLPClassifier, LLPRegressor
from llp.errors import InputError
from tests.helpers.own_files import prepare

ROWS = "shop,price,bag,bought\n" + "\n".join(f"s{i % 3},{i / 10},b{i % 6},{i % 2}" for i in range(60)) + "\n"
FILES = {
    "good.csv": ROWS,
    "other.csv": ROWS.replace("price", "cost", 1),
    "long.csv": ROWS + "a,1,b,0,further\n",
    "twice.csv": ROWS.replace("price", "shop", 1),
    "bare.csv": ROWS.split("\n", 1)[1],
    "empty.csv": "",
    "quote.csv": 'shop,bought\n"open,1\n' + "a,0\n" * 50,
    "one_class.csv": re.sub(r",[01]\n", ",1\n", ROWS),
    "words.csv": re.sub(r",0\n", ",no\n", ROWS),
    "bags.csv": "bag,label_sum,size\n" + "".join(f"b{i},5,10\n" for i in range(6)),
    "weights.csv": ROWS.replace("price", "w", 1).replace(",0.5,", ",heavy,"),
    "below.csv": ROWS.replace(",0.5,", ",-0.5,"),
    "weightless.csv": re.sub(r",[0-9.]+,b", ",0,b", ROWS),
}

COMMANDS = {
    "no such file": (["files=nowhere.csv", "label=bought"], r"^Invalid files=nowhere.csv: no such file"),
    "no label": (["files=good.csv"], r"^Missing label: expected its column, such as label=clicked, or bags= and bag"),
    "label that is not there": (["files=good.csv", "label=bougt"], r"^Invalid label=bougt: the files have no such c"),
    "label of words": (["files=words.csv", "label=bought"], r"^Invalid label=bought: its values are no numbers \('1"),
    "positive that is no value": (
        ["files=words.csv", "label=bought", "positive=yes"],
        r"^Invalid positive='yes': expected a value of bought, which holds '1', 'no'$",
    ),
    "labels all alike": (["files=one_class.csv", "label=bought"], r"all 60 rows of files have the label 1 in 'bought'"),
    "files with other columns": (["files=[good.csv,other.csv]", "label=bought"], r"^other.csv has no column 'price'"),
    "too many fields": (["files=long.csv", "label=bought"], r"^long.csv, line 62: 5 fields instead of 4\..*errors=s"),
    "a name twice": (["files=twice.csv", "label=bought"], r"the column name 'shop' stands twice; name all columns w"),
    "no header": (["files=bare.csv", "label=bought"], r"its first line holds the number 0.0, so it may be no header;"),
    "a quote that is not closed": (["files=quote.csv", "label=bought"], r"^quote.csv, line \d+: \d+ fields instead"),
    "another encoding": (["files=latin.csv", "label=bought"], r"^latin.csv.* encoding, such as encoding=latin-1$"),
    "a file that is cut off": (["files=cut.csv.gz", "label=bought"], r"^cut.csv.gz is cut off"),
    "a number that is none": (["files=good.csv", "label=bought", "numeric=[shop]"], r"^Invalid numeric=shop: 60 of"),
    "a date that is none": (["files=good.csv", "label=bought", "dates=[shop]"], r"^Invalid dates=shop: 60 of its va"),
    "an option of the wrong kind": (
        ["files=good.csv", "label=bought", "numeric_as=log"],
        r"^Invalid numeric_as='log': expected standardised, bins or both, such as numeric_as=standardised$",
    ),
    "bags without their column": (["files=good.csv", "bags=bags.csv"], r"^Missing bag_column: expected the column "),
    "epsilon of no sums": (
        ["files=good.csv", "label=bought", "bag_column=bag", "epsilon=1.0"],
        r"^Invalid epsilon=1.0: it is of the noise in bags=, expected that option too$",
    ),
    "a test file without a feature": (
        ["files=good.csv", "label=bought", "test_files=other.csv"],
        r"^other.csv has no column 'price', which good.csv has; it has shop, cost, bag, bought$",
    ),
    "an empty name": (["files=''", "label=bought"], r"^Invalid files=: expected the path of a file, a folder"),
    "a weight that is no number": (
        ["files=weights.csv", "label=bought", "weight_column=w"],
        r"^Invalid weight_column=w",
    ),
    "a weight below 0": (["files=below.csv", "label=bought", "weight_column=price"], r"^Invalid weight_column=price"),
    "weights that are all 0": (
        ["files=weightless.csv", "label=bought", "weight_column=price"],
        r"^Invalid weight_column=price: all of its values in files are 0, expected one above it$",
    ),
    "the name of another dataset": (
        ["files=good.csv", "label=bought", "name=flights"],
        r"^Invalid name=flights: dataset=flights is another one, expected a name of its own$",
    ),
    "overlapping bags without their column": (
        ["files=good.csv", "label=bought", "overlap=true"],
        r"^Invalid overlap=true: expected the column of the bags too, such as bag_column=campaign$",
    ),
    "sizes of no bags": (["files=good.csv", "label=bought", "bag_sizes=trust_rows"], r"^Invalid bag_sizes=trust_row"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The folder of the files."""
    home = tmp_path_factory.mktemp("home")
    for name, text in FILES.items():
        (home / name).write_text(text)
    (home / "latin.csv").write_bytes(ROWS.replace("s0", "sé").encode("latin-1"))
    (home / "cut.csv.gz").write_bytes(gzip.compress(ROWS.encode())[:-20])
    return home


def assert_nothing_is_left(home):
    assert [path for path in (home / "data").rglob("*") if not path.name.endswith(".lock")] == []


@pytest.mark.parametrize("case", COMMANDS)
def test_own_files_are_refused_in_one_line(home, monkeypatch, case):
    monkeypatch.chdir(home)
    (first, *options), message = COMMANDS[case]
    named = [] if options and options[-1].startswith("name=") else ["name=mine"]
    with pytest.raises(InputError, match=message) as error:
        prepare(home / "data", first, *named, *options)
    assert "\n" not in str(error.value)
    assert_nothing_is_left(home)


X = pl.DataFrame({"a": [f"v{i % 4}" for i in range(40)], "b": np.arange(40.0)})
Y = np.arange(40) % 2
BAGS = np.arange(40) // 4

CALLS = {
    "no labels": (lambda: LLPClassifier().fit(X, bags=BAGS), "requires y to be passed.*bags= and proportions="),
    "labels twice": (lambda: LLPClassifier().fit(X, Y, bags=BAGS, proportions=[0.5] * 10), "both was given"),
    "lists among single bags": (
        lambda: LLPClassifier().fit(X, Y, bags=[[one, 0] if one else one for one in BAGS.tolist()]),
        r"^bags holds lists and single bags, expected a list of bags for every instance$",
    ),
    "an instance without a bag": (
        lambda: LLPClassifier().fit(X, Y, bags=[[one] if one else [] for one in BAGS.tolist()]),
        r"^bags names no bag of instance 0: expected one at least, such as \['a', 'b'\]$",
    ),
    "too few lists": (lambda: LLPClassifier().fit(X, Y, bags=[[1, 2]] * 9), "bags has 9 lists, .* of the 40 instances"),
    "proportions without bags": (lambda: LLPClassifier().fit(X, proportions=[0.5] * 10), "needs bags="),
    "bags of another length": (lambda: LLPClassifier().fit(X, Y, bags=BAGS[:30]), r"bags has the shape \(30,\)"),
    "sizes that differ": (
        lambda: LLPClassifier().fit(X, bags=BAGS, proportions=[0.5] * 10, bag_sizes=[4] * 9 + [5]),
        "bag 9 has bag_sizes 5 and 4 instances",
    ),
    "a column name twice": (
        lambda: LLPClassifier().fit(pd.DataFrame(np.ones((40, 2)), columns=["a", "a"]), Y, bags=BAGS),
        "^X has the column name 'a' twice",
    ),
    "a parameter of the wrong kind": (
        lambda: LLPClassifier(learning_rate=-1).fit(X, Y, bags=BAGS),
        r"^Invalid learning_rate=-1\.0: expected a number >= 0, such as learning_rate=0.001$",
    ),
    "no bag left to train on": (
        lambda: LLPClassifier().fit(X, Y, bags=np.zeros(40)),
        r"^Invalid validation_fraction=0.1: expected a smaller share, .* none of the 1 train bags is left$",
    ),
    "a split of bags that all hang together": (
        lambda: BagKFold(2).split(X, bags=[["all", one] for one in BAGS.tolist()]),
        "^all bags hang together by instances that they share",
    ),
    "weights": (lambda: LLPClassifier().fit(X, Y, sample_weight=Y), "takes no sample_weight"),
    "three classes": (lambda: LLPClassifier().fit(X, np.arange(40) % 3), "Only binary classification is supported"),
    "labels that are infinite": (lambda: LLPRegressor().fit(X, np.full(40, np.inf)), "y contains NaN or infinity"),
    "a method that trains no model": (lambda: LLPClassifier("group_prior").fit(X, Y, bags=BAGS), "trains no model"),
    "an unknown method": (lambda: LLPClassifier("dlp_bce").fit(X, Y, bags=BAGS), "dllp_bce"),
    "a method for the other labels": (lambda: LLPRegressor("upm").fit(X, Y, bags=BAGS), "upm"),
}


@pytest.mark.parametrize("case", CALLS)
def test_estimator_says_in_one_line_what_is_wrong(case):
    call, message = CALLS[case]
    with pytest.raises((ValueError, TypeError), match=message) as error:
        call()
    assert "\n" not in str(error.value)
