"""Tables of files that packages carry, against their datasheets, and docs/tables.md, which is made from these.

After a change of a datasheet: `python -m tests.unit.datasets.test_packaged`.
"""

import hashlib
import itertools
import lzma
import os
import pickle
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import yaml
from sklearn.metrics import roc_auc_score

from llp.config.grouping_keys import CONF_DIR, named_key
from llp.data.table import InstanceTable
from llp.datasets import diamonds, flights
from llp.datasets.frames import FrameColumns, write_frame
from llp.datasets.installed import package_folder
from llp.datasets.packaged import prepare
from llp.datasets.preparation import prepare_table
from llp.errors import InputError
from tests.helpers.composed import checked, composition

real_tables = pytest.mark.skipif("LLP_SUITE" not in os.environ, reason="make test-tables installs and reads them")
PAGE = CONF_DIR.parent / "docs" / "tables.md"
MARK = "<!-- made from conf/dataset -->\n"


def sheet(path):
    """The comment at the head of a dataset's YAML file, which is YAML."""
    head = itertools.takewhile(lambda line: line.startswith("#"), path.read_text().splitlines())
    return yaml.safe_load("\n".join(line.removeprefix("# ") for line in head))


PATHS = [path for path in sorted(CONF_DIR.glob("dataset/*.yaml")) if path.read_text().startswith("# about: ")]
SHEETS = {path.stem: sheet(path) for path in PATHS}
YAML = {path.stem: yaml.safe_load(path.read_text()) for path in PATHS}
PACKAGED = [name for name in SHEETS if YAML[name]["prepare"]["_target_"] == "llp.datasets.packaged.prepare"]


def config_of(name):
    method = "dllp_mse" if YAML[name]["label_kind"] == "real" else "dllp_bce"
    return checked(composition("train", f"dataset={name}", f"method={method}"))


def table_of(name, folder):
    return InstanceTable.open(prepare_table(config_of(name).dataset, folder))


def alone(table):
    """By column, how well its label means in half the rows order the others: AUC, of real labels r²."""
    label, order = np.asarray(table.label, float), np.random.default_rng(0).permutation(table.n_rows)
    train, test = np.split(order, [table.n_rows // 2])
    found = {}
    for name in table.categorical_names:
        codes = np.asarray(table.codes(name))
        counts = np.bincount(codes[train], minlength=codes.max() + 1)
        means = (np.bincount(codes[train], label[train], len(counts)) + label.mean()) / (counts + 1)
        scores = means[codes[test]]
        real = table.label_kind == "real"
        found[name] = np.corrcoef(scores, label[test])[0, 1] ** 2 if real else roc_auc_score(label[test], scores)
    return found


@real_tables
@pytest.mark.parametrize("name", [*PACKAGED, "diamonds"])
def test_a_table_is_what_its_datasheet_says(name, tmp_path):
    table, told = table_of(name, tmp_path), SHEETS[name]
    assert table.n_rows == told["rows"] <= 60_000
    assert float(f"{table.schema.facts['label_mean']:.4g}") == told["label mean"]
    assert table.label_kind == YAML[name]["label_kind"]
    assert table.categorical_names[: len(YAML[name]["key_columns"])] == YAML[name]["key_columns"]
    for key in [words.split()[0] for words in told["bags"].split(", ")]:
        bags = named_key(key, YAML[name]["key_columns"]).all_bags(table)
        assert len(bags.sizes) >= 20, key
        assert bags.sizes.sum() >= 0.3 * table.n_rows, key

    assert max(alone(table).values()) < 0.95


@real_tables
@pytest.mark.parametrize("name", PACKAGED)
def test_every_column_of_the_file_is_used_or_its_leaving_out_told(name):
    options = YAML[name]["prepare"]
    path = package_folder(options["package"], dataset=name, extra="suite") / options["file"]
    columns = options.get("header") or pd.read_pickle(path, compression="xz").columns.drop("rownames")
    told = [options["label"], *options["categories"], *options["binned"], *SHEETS[name].get("left out", {})]
    named = {*re.findall(r"\w+", " ".join(re.sub(r" AS \w+$", "", words) for words in told))}
    assert {*columns} <= named


FRAME = {
    "text": ["b", "a", None, "b", " a "] * 4,
    "whole": [3.0, np.nan, 1.0, 3.0, 1.0] * 4,
    "number": [0.5, 1.5, np.nan, 2.5, 3.5] * 4,
    "flag": [True, False, False, True, True] * 4,
    "y": [1.0, 2.0, 4.0, np.nan, 8.0] * 4,
}
OPTIONS = {
    "package": "carried",
    "label": "LOG2(y)",
    "label_kind": "real",
    "categories": ["text", "whole AS w", "flag", "number > 1 AS large"],
    "binned": ["number"],
    "rare_at_most": 0,
    "bins": 4,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The folder of a package of a name that cannot be imported."""

    def make(name):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('it is not imported')")
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(str(tmp_path))
        return tmp_path / name

    return make


@pytest.fixture
def carried(tmp_path, package):
    """Put files into a package; gives `prepare`'s options of one."""
    folder = package("carried")

    def put(name, content):
        (folder / name).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        return {**OPTIONS, "folder": tmp_path / name, "made_by": {}, "file": name, "sha256": sha256}

    return put


def pickled(content):
    return lzma.compress(pickle.dumps(content))


def csv(header):
    rows = pd.DataFrame(FRAME).to_csv(index=False, header=header, na_rep="?")
    return rows.encode(), {"missing": ["?"], "header": None if header else [*FRAME]}


@pytest.mark.parametrize("form", ["pickle", "csv", "csv without a header"])
def test_a_table_is_the_file(form, carried):
    if form == "pickle":
        frame = pd.DataFrame(FRAME).astype({"text": object})
        frame.columns = pd.Index([*FRAME], dtype=object)
        options = carried("t.pkl.compress", pickled(frame))
    else:
        content, more = csv(header=form == "csv")
        options = carried("t.csv", content) | more
    prepare(**options)
    table = InstanceTable.open(options["folder"])
    assert table.n_rows == 16  # 4 have no label
    np.testing.assert_array_equal(table.label, [0, 1, 2, 3] * 4)
    assert table.categorical_names == ["text", "w", "flag", "large", "number"]
    text = dict(table.vocabulary("text").iter_rows())
    np.testing.assert_array_equal(table.codes("text"), [text[value] for value in ("b", "a", None, "a")] * 4)
    assert {*table.vocabulary("w")["value"]} == {None, *("31" if form == "pickle" else ("3.0", "1.0"))}
    assert (table.codes("number")[:4] == 0).tolist() == [False, False, True, False]


def test_a_sample_is_the_same_rows_always(carried):
    content, more = csv(header=True)
    options = carried("t.csv", content) | more | {"label": "number * 100", "sample": 7}
    prepare(**options)
    first = np.array(InstanceTable.open(options["folder"]).label)
    assert len(first) == 7
    prepare(**options | {"folder": options["folder"].with_name("again")})
    np.testing.assert_array_equal(InstanceTable.open(options["folder"].with_name("again")).label, first)


class _Harm:
    def __reduce__(self):
        return os.system, ("exit 1",)


@pytest.mark.parametrize(
    ("name", "content", "change", "said"),
    [
        ("t.pkl.compress", pickled(_Harm()), {}, r"The pickle names \w+\.system"),
        ("t.pkl.compress", b"y,text\n1,a\n", {}, "Expected an xz-compressed pickle"),
        ("t.pkl.compress", pickled(pd.DataFrame({"y": ["a"]})), {}, "pandas frame of NumPy arrays"),
        ("t.csv", b"y,text\n1,a\n", {"sha256": "0"}, r"t\.csv is missing or of another version of carried"),
        ("t.csv", b"y,text\n1,a\n", {"label": "z"}, r"Invalid dataset\.prepare=\['z'\].*columns y, text"),
        ("t.csv", b"y,text\n1,a\n", {"label": "y +"}, r"Invalid dataset\.prepare="),
        ("t.csv", b"y,text\n1,a\n", {"package": "carried_not"}, r"llp-bench\[suite\]"),
    ],
)
def test_what_is_wrong_is_told(name, content, change, said, carried):
    options = carried(name, content) | change
    with pytest.raises(InputError, match=said):
        prepare(**options)
    assert not options["folder"].exists()


def test_diamonds(tmp_path, package):
    rows = [
        f'{0.2 + i / 100},"{("Ideal", "Fair")[i % 2]}","{"EDF"[i % 3]}","SI2",61.5,55,{1000 * 2 ** (i % 4)},3.9,3.8,2.4'
        for i in range(40)
    ]
    (data := package("plotnine") / "data").mkdir()
    header = '"carat","cut","color","clarity","depth","table","price","x","y","z"'
    (data / "diamonds.csv").write_text("\n".join([header, *rows]) + "\n")
    diamonds.prepare(folder=tmp_path / "table", made_by={}, bins=4)
    table = InstanceTable.open(tmp_path / "table")
    assert table.label_kind == "real"
    np.testing.assert_array_equal(table.label, [i % 4 for i in range(40)])
    assert table.categorical_names == [*diamonds.CATEGORICAL, *diamonds.NUMERIC]
    assert (np.diff(table.codes("carat")) >= 0).all()
    assert dict(table.vocabulary("color").iter_rows()) == {"D": 2, "E": 1, "F": 3}


@pytest.mark.parametrize(
    ("module", "options", "said"),
    [
        (diamonds, {"bins": 4}, r"dataset=diamonds needs the package plotnine: install it"),
        (flights, {"label": "late", "late_after": 15.0, "rare_at_most": 10, "bins": 32}, r"'llp-bench\[demo\]'"),
    ],
)
def test_a_missing_package_is_told_how_to_install(tmp_path, monkeypatch, module, options, said):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=said):
        module.prepare(folder=tmp_path / "t", made_by={}, **options)


@pytest.mark.parametrize(
    ("categories", "binned", "numbers"),
    [(("shop",), (), ()), ((), ("price",), ()), ((), (), ("price",)), (("shop",), (), ("price",))],
)
def test_categories_bins_or_numbers_of_a_frame_may_be_missing(tmp_path, categories, binned, numbers):
    frame = pl.DataFrame({"shop": ["a", "b", None, "a"], "price": [1.0, 3.0, None, 2.0]})
    columns = FrameColumns(
        label_kind="binary", categories=categories, binned=binned, numbers=numbers, rare_at_most=0, bins=2
    )
    label = np.array([0, 1, 1, 0], np.float32)
    write_frame(tmp_path / "t", {"_target_": "made"}, frame, label, columns, {})
    table = InstanceTable.open(tmp_path / "t")
    assert table.categorical.shape == (4, len(categories) + len(binned))
    assert table.numeric.shape == (4, len(numbers))
    assert np.array_equal(table.label, label)


def page():
    """docs/tables.md, its table made from the datasheets."""
    heads = ["dataset", "rows", "label", "mean", "bags", "left out", "source and licence"]
    rows = [heads, ["---"] * len(heads)]
    for name, told in SHEETS.items():
        out = "; ".join(f"{columns} ({why})" for columns, why in told.get("left out", {}).items())
        source = f"{told['source']} ({told['licence']})"
        size, mean = f"{told['rows']:,}", str(told["label mean"])
        rows.append([f"`{name}`", size, told["about"], mean, told["bags"], out, source])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return PAGE.read_text().partition(MARK)[0] + MARK + "\n" + table + "\n"


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")
def test_the_page_is_made_from_the_datasheets():
    assert PAGE.read_text() == page(), "write the page again: python -m tests.unit.datasets.test_packaged"


if __name__ == "__main__":
    PAGE.write_text(page())
