"""Twenty-odd ways to hand over wrong files, bags, runs and arrays: one clear line each, and nothing is left behind."""

import gzip
import re

import numpy as np
import polars as pl
import pytest

from llp import LLPClassifier, LLPRegressor
from tests.helpers.commands import Command, assert_refused

PREPARE = ("dataset=files", "name=mine")
ROWS = "shop,price,bag,bought\n" + "\n".join(f"s{i % 3},{i / 10},b{i % 6},{i % 2}" for i in range(60)) + "\n"
FILES = {
    "good.csv": ROWS,
    "other.csv": ROWS.replace("price", "cost", 1),
    "long.csv": ROWS + "a,1,b,0,further\n",
    "twice.csv": ROWS.replace("price", "shop", 1),
    "bare.csv": ROWS.split("\n", 1)[1],
    "empty.csv": "",
    "quote.csv": 'shop,bought\n"open,1\n' + "a,0\n" * 50,
    "latin.csv": None,
    "cut.csv.gz": None,
    "one_class.csv": re.sub(r",[01]\n", ",1\n", ROWS),
    "words.csv": re.sub(r",0\n", ",no\n", ROWS),
    "several.csv": ROWS.replace(",b1,", ",b1|b2,"),
    "bags.csv": "bag,label_sum,size\n" + "".join(f"b{i},5,10\n" for i in range(6)),
    "fewer.csv": "bag,label_sum\n" + "".join(f"b{i},5\n" for i in range(4)),
    "sizes.csv": "bag,label_sum,size\n" + "".join(f"b{i},5,{10 + (i == 2)}\n" for i in range(6)),
}

COMMANDS = {
    "no such file": (["files=nowhere.csv", "label=bought"], r"^Invalid files=nowhere.csv: no such file"),
    "no label": (
        ["files=good.csv"],
        r"^Missing label: expected its column, such as label=clicked, or bags= and bag_column=",
    ),
    "label that is not there": (
        ["files=good.csv", "label=bougt"],
        r"^Invalid label=bougt: the files have no such column; they have shop, price, bag, bought$",
    ),
    "label of words": (
        ["files=words.csv", "label=bought"],
        r"^Invalid label=bought: its values are no numbers \('1', 'no'\); .* means 1, such as positive='no'$",
    ),
    "positive that is no value": (
        ["files=words.csv", "label=bought", "positive=yes"],
        r"^Invalid positive='yes': expected a value of bought, which holds '1', 'no'$",
    ),
    "labels all alike": (["files=one_class.csv", "label=bought"], r"all 60 rows of files have the label 1 in 'bought'"),
    "files with other columns": (
        ["files=[good.csv,other.csv]", "label=bought"],
        r"^other.csv has no column 'price', which good.csv has; it has shop, cost, bag, bought$",
    ),
    "too many fields": (
        ["files=long.csv", "label=bought"],
        r"^long.csv, line 62: 5 fields instead of 4\..*errors=skip",
    ),
    "a name twice": (
        ["files=twice.csv", "label=bought"],
        r"the column name 'shop' stands twice; name all columns with",
    ),
    "no header": (["files=bare.csv", "label=bought"], r"its first line holds the number 0.0, so it may be no header;"),
    "an empty file": (["files=empty.csv", "label=bought"], r"^empty.csv is empty\.?$"),
    "a quote that is not closed": (
        ["files=quote.csv", "label=bought"],
        r"^quote.csv, line \d+: \d+ fields instead of 2",
    ),
    "another encoding": (["files=latin.csv", "label=bought"], r"^latin.csv.* encoding, such as encoding=latin-1$"),
    "a file that is cut off": (["files=cut.csv.gz", "label=bought"], r"^cut.csv.gz is cut off"),
    "a number that is none": (
        ["files=good.csv", "label=bought", "numeric=[shop]"],
        r"^Invalid numeric=shop: 60 of its values are no numbers, such as 's0'; write categorical=\[shop\]",
    ),
    "a date that is none": (
        ["files=good.csv", "label=bought", "dates=[shop]"],
        r"^Invalid dates=shop: 60 of its values",
    ),
    "an option of the wrong kind": (
        ["files=good.csv", "label=bought", "numeric_as=log"],
        r"^Invalid numeric_as='log': expected 'standardised', 'bins' or 'both', such as numeric_as=both$",
    ),
    "bags without their column": (
        ["files=good.csv", "bags=bags.csv"],
        r"^Missing bag_column: expected the column ",
    ),
    "bags that are missing": (
        ["files=good.csv", "bag_column=bag", "bags=fewer.csv", "ignore=[bought]"],
        r"^2 bag\(s\) are in files= and not in bags=, such as 'b4', 'b5'; .*unmatched_bags=drop$",
    ),
    "epsilon of no sums": (
        ["files=good.csv", "label=bought", "bag_column=bag", "epsilon=1.0"],
        r"^Invalid epsilon=1.0: it is of the noise in bags=, expected that option too$",
    ),
    "several bags of a row": (
        ["files=several.csv", "bag_column=bag", "bags=bags.csv", "ignore=[bought]"],
        r"^1 bag\(s\) are in files= and not in bags=, such as 'b1\|b2'; .* a\|b, needs overlap=true",
    ),
    "sizes that differ": (
        ["files=good.csv", "bag_column=bag", "bags=sizes.csv", "ignore=[bought]"],
        r"^bag 'b2' has size 11 in bags= and 10 rows in files=; .*bag_sizes=trust_rows$",
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The answers of all commands, and what they left."""
    home = tmp_path_factory.mktemp("home")
    for name, text in FILES.items():
        if text is not None:
            (home / name).write_text(text)
    (home / "latin.csv").write_bytes(ROWS.replace("s0", "sé").encode("latin-1"))
    (home / "cut.csv.gz").write_bytes(gzip.compress(ROWS.encode())[:-20])
    command = Command(home / "data", home / "outputs", home)
    found = command.many(*([*PREPARE, *words] for words, _ in COMMANDS.values()), module="llp.prepare")
    return dict(zip(COMMANDS, found, strict=True)), home


@pytest.mark.parametrize("case", COMMANDS)
def test_command_says_in_one_line_what_is_wrong(answers, case):
    assert_refused(answers[0][case], COMMANDS[case][1])


def test_nothing_is_left(answers):
    data = answers[1] / "data"
    assert [path for path in data.rglob("*") if not path.name.endswith(".lock")] == []


X = pl.DataFrame({"a": [f"v{i % 4}" for i in range(40)], "b": np.arange(40.0)})
Y = np.arange(40) % 2
BAGS = np.arange(40) // 4

CALLS = {
    "no labels": (lambda: LLPClassifier().fit(X, bags=BAGS), "requires y to be passed.*bags= and proportions="),
    "labels twice": (lambda: LLPClassifier().fit(X, Y, bags=BAGS, proportions=[0.5] * 10), "both was given"),
    "proportions without bags": (lambda: LLPClassifier().fit(X, proportions=[0.5] * 10), "needs bags="),
    "bags of another length": (lambda: LLPClassifier().fit(X, Y, bags=BAGS[:30]), r"bags has the shape \(30,\)"),
    "lists among single bags": (
        lambda: LLPClassifier().fit(X, Y, bags=[[one, 0] if one else one for one in BAGS.tolist()]),
        r"^bags holds lists and single bags, expected a list of bags for every instance$",
    ),
    "an instance without a bag": (
        lambda: LLPClassifier().fit(X, Y, bags=[[one] if one else [] for one in BAGS.tolist()]),
        r"^bags names no bag of instance 0: expected one at least, such as \['a', 'b'\]$",
    ),
    "too few lists": (lambda: LLPClassifier().fit(X, Y, bags=[[1, 2]] * 9), "bags has 9 lists, .* of the 40 instances"),
    "a bag without a proportion": (
        lambda: LLPClassifier().fit(X, bags=BAGS, proportions=dict.fromkeys(range(9), 0.5)),
        "proportions lacks 1 bag",
    ),
    "too few proportions": (
        lambda: LLPClassifier().fit(X, bags=BAGS, proportions=[0.5] * 9),
        "expected a number for each of the 10 bags",
    ),
    "a proportion that is none": (
        lambda: LLPClassifier().fit(X, bags=BAGS, proportions=[0.5] * 9 + [np.nan]),
        "proportions of bag 9 is no finite number",
    ),
    "sizes that differ": (
        lambda: LLPClassifier().fit(X, bags=BAGS, proportions=[0.5] * 10, bag_sizes=[4] * 9 + [5]),
        "bag 9 has bag_sizes 5 and 4 instances",
    ),
    "weights": (lambda: LLPClassifier().fit(X, Y, sample_weight=Y), "takes no sample_weight"),
    "three classes": (lambda: LLPClassifier().fit(X, np.arange(40) % 3), "Only binary classification is supported"),
    "labels that are infinite": (lambda: LLPRegressor().fit(X, np.full(40, np.inf)), "y contains NaN or infinity"),
    "an unknown method": (lambda: LLPClassifier("dlp_bce").fit(X, Y, bags=BAGS), "dllp_bce"),
    "a method for the other labels": (lambda: LLPRegressor("upm").fit(X, Y, bags=BAGS), "upm"),
}


@pytest.mark.parametrize("case", CALLS)
def test_estimator_says_in_one_line_what_is_wrong(case):
    call, message = CALLS[case]
    with pytest.raises((ValueError, TypeError), match=message) as error:
        call()
    assert "\n" not in str(error.value)
