"""Own files of every shape become the same table as their values say."""

import datetime
import gzip
import io
import itertools

import numpy as np
import polars as pl
import pytest
import rich.console
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.config.own_datasets import dataset_node
from llp.datasets.files.features import Feature
from llp.datasets.files.kinds import find_kinds, kinds_table
from llp.datasets.files.options import check_files_options
from llp.datasets.files.recipe import Recipe, RowCoder
from llp.datasets.reading import texts
from llp.datasets.reading.files import Block, Dialect, Field
from llp.datasets.reading.records import parse
from llp.datasets.reading.unpack import Content
from llp.errors import InputError
from tests.helpers.own_files import default_options, prepare_files, values_of
from tests.helpers.raw import zipped

pytestmark = pytest.mark.run  # prepares data

FRAME = pl.DataFrame(
    {
        "shop": ["a", 'b "best", really', "c;d", None, "e f"] * 12,
        "price": [1.5, -2.25, None, 1000.0, 0.125] * 12,
        "y": [0, 1, 1, 0, 1] * 12,
    }
)


def as_csv(frame=FRAME, **options):
    return frame.write_csv(**options).encode()


def as_arff():
    head = "% made\n@relation mine\n@attribute shop string\n@ATTRIBUTE 'price' numeric\n@attribute y {0,1}\n@data\n"
    lines = [
        ",".join("?" if value is None else f"'{value}'" if isinstance(value, str) else str(value) for value in row)
        for row in FRAME.iter_rows()
    ]
    return (head + "\n".join(lines) + "\n").encode()


def as_binary(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


SHAPES = {
    "comma.csv": (as_csv(), []),
    "semicolon.csv": (as_csv(separator=";", decimal_comma=True), ["decimal=comma"]),
    "tab.tsv": (as_csv(separator="\t"), []),
    "pipe.txt": (as_csv(separator="|"), ["separator=pipe"]),
    "apostrophes.csv": (as_csv(quote_char="'"), ['quote="\'"']),
    "windows.csv": (b"\xef\xbb\xbf" + as_csv().replace(b"\n", b"\r\n"), []),
    "latin.csv": (as_csv(FRAME).decode().replace("e f", "é f").encode("latin-1"), ["encoding=latin-1"]),
    "utf16.csv": (as_csv().decode().encode("utf-16"), ["encoding=utf-16"]),
    "utf16_unsaid.csv": (as_csv().decode().encode("utf-16"), []),
    "carriage_returns.csv": (as_csv().replace(b"\n", b"\r"), []),
    "no_header.csv": (as_csv(include_header=False), ["columns=[shop,price,y]"]),
    "comments.csv": (b"# it's \"made by hand\n" + as_csv().replace(b"\ne f,", b"\n# odd,\n\ne f,"), ["comment='#'"]),
    "no_last_feed.csv": (as_csv().removesuffix(b"\n"), []),
    "header_twice.csv": (as_csv(FRAME[:20]) + as_csv(FRAME[20:]), []),
    "packed.csv.gz": (gzip.compress(as_csv()), []),
    "packed.csv.zst": (zstandard.compress(as_csv()), []),
    "packed.zip": (zipped({"mine.csv": as_csv()}), []),
    "mine.parquet": (as_binary(FRAME.write_parquet), []),
    "mine.feather": (as_binary(FRAME.write_ipc), []),
    "enums.parquet": (as_binary(FRAME.with_columns(pl.col("shop").cast(pl.Categorical)).write_parquet), []),
    "mine.arff": (as_arff(), []),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "mine.csv").write_bytes(as_csv())
    return prepare_files(folder / "data", folder / "mine.csv", label="y")


def test_table_holds_the_values(plain):
    assert values_of(plain, "shop") == FRAME["shop"].to_list()
    price = FRAME["price"].to_numpy()
    known = price[~np.isnan(price)]
    expected = np.where(np.isnan(price), 0, (price - known.mean()) / known.std())
    np.testing.assert_allclose(plain.numeric[:, 0], expected, rtol=1e-5)
    bins = plain.codes("price.bins")
    assert set(bins[np.isnan(price)]) == {0}
    assert list(np.argsort(known[:4])) == list(np.argsort(bins[~np.isnan(price)][:4]))
    assert plain.label.tolist() == FRAME["y"].to_list()
    assert plain.label_kind == "binary"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_the_same_table(prepared, plain, shape):
    content, options = SHAPES[shape]
    table = prepared(content, *options, file=shape)
    assert [column.name for column in table.schema.columns] == [column.name for column in plain.schema.columns]
    assert table.n_rows == plain.n_rows
    np.testing.assert_array_equal(table.categorical, plain.categorical)
    np.testing.assert_array_equal(table.numeric, plain.numeric)
    np.testing.assert_array_equal(table.label, plain.label)
    assert table.schema.facts["repeated_headers"] == (shape == "header_twice.csv")


def test_a_folder_of_files_with_columns_in_another_order(tmp_path, plain):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.csv").write_bytes(as_csv(FRAME[:17]))
    (folder / "2.csv").write_bytes(as_csv(FRAME[17:].select("y", "shop", "price"), separator=";"))
    table = prepare_files(tmp_path / "data", folder, label="y")
    np.testing.assert_array_equal(table.categorical, plain.categorical)
    np.testing.assert_array_equal(table.label, plain.label)


fields = st.text(st.sampled_from("ab,\n\";' é"), max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(fields, fields), min_size=1, max_size=30), read=st.integers(1, 50), block=st.integers(1, 60)
)
def test_blocks_hold_whole_records_wherever_the_file_is_cut(rows, read, block):
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String}, orient="row").with_row_index("row")
    content = frame.write_csv(quote_style="non_numeric").encode()
    pieces = (content[i : i + read] for i in range(0, len(content), read))
    dialect = Dialect(b",", tuple(map(Field, ("row", "x", "y"))), ("row", "x", "y"), '"')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "BLOCK_BYTES", block)
        found = list(texts.whole_records("mine.csv", texts.text_of(Content("mine.csv", pieces)), '"'))
    parsed = [parse(Block("mine.csv", 1, text, dialect)) for text in found]
    assert all(messages == [] for _, _, messages in parsed)
    found = pl.concat([part for part, _, _ in parsed]).fill_null("")
    assert found.rows() == [(str(row), x, y) for row, x, y in frame.rows()]


def test_kinds_are_inferred_and_can_be_corrected(prepared):
    n = 300
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "zip": [f"{i % 7:05}" for i in range(n)],
            "code": [i % 5 for i in range(n)],
            "day": [datetime.date(2024, 1 + i % 12, 3) for i in range(n)],
            "at": [f"2024-02-0{1 + i % 9}T{i % 24:02}:30:00" for i in range(n)],
            "german": [f"{1 + i % 28:02}.11.2024" for i in range(n)],
            "id": [f"user{i}" for i in range(n)],
            "free": ["text"] * n,
            "y": rng.normal(size=n),
        }
    )
    table = prepared(
        frame, categorical="[code]", dates="[german]", ignore="[free]", date_format="%d.%m.%Y",
        date_parts="[month,day]", numeric_as="standardised",
    )  # fmt: skip
    assert table.label_kind == "real"
    names = [column.name for column in table.schema.columns]  # those in ISO do not fit the format
    assert names == ["zip", "code", "day", "at", "german.month", "german.day", "id"]
    iso = prepared(frame, name="iso", ignore="[free,german,id]", date_parts="[month,weekday,hour]")
    assert values_of(iso, "day.month") == [str(1 + i % 12) for i in range(n)]
    assert values_of(iso, "at.hour") == [str(i % 24) for i in range(n)]
    assert values_of(iso, "at.weekday") == [str(datetime.date(2024, 2, 1 + i % 9).isoweekday()) for i in range(n)]


@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [
        ("2024-01-05", "2024-01-05 10:20", "date"),
        (None, "2024-01-05T10:20:30", "date"),
        ("2024-01-05", "soon", "categorical"),
        ("soon", "2024-01-05", "categorical"),
        ("5", "2.5", "numeric"),
        (None, "5", "numeric"),
        ("5", "007", "categorical"),
        ("5", "many", "categorical"),
        ("many", "5", "categorical"),
        ("2024-01-05", "?", "categorical"),
    ],
)
def test_kind_is_of_all_rows_whatever_the_first_ones_are(first, later, kind):
    rows = [first] * 2000 + [later] * (3000 if later != "?" else 9)
    lazy = pl.LazyFrame(dict.fromkeys(("x", "date", "number", "len"), rows), schema_overrides={"x": pl.String})
    found, *others = find_kinds(lazy, check_files_options(default_options()))
    assert {one.kind for one in others} == {kind}  # whatever a column is called
    assert (found.kind, found.missing) == (kind, 2000 if first is None else 0)
    mostly = {("many", "5"): "mostly numbers; not 'many'", ("2024-01-05", "?"): "mostly dates; not '?'"}
    assert found.note == mostly.get((first, later), found.note)


def test_date_format_that_no_column_is_written_in_or_that_reads_nothing_is_told(prepared, caplog):
    prepared(FRAME, date_format="%d.%m.%Y")
    assert "date_format=%d.%m.%Y has no effect" in caplog.text
    with pytest.raises(InputError, match=r"^Invalid date_format='%Y-%m-%d %M': expected a pattern of a date .*such as"):
        prepared(FRAME, name="other", date_format="'%Y-%m-%d %M'")


def test_missing_numbers_have_an_indicator_or_the_mean(prepared):
    for way, names in (("indicator", ["price", "price.missing"]), ("mean", ["price"])):
        table = prepared(FRAME.drop("shop"), name=way, numeric_as="standardised", missing_as=way)
        assert [column.name for column in table.schema.columns] == names
        assert table.categorical.shape == (60, len(names) - 1)


def test_weights_ids_and_a_given_test_split(prepared, tmp_path):
    n = 200
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "w": np.arange(n) / 10,
            "a": [f"v{i % 3}" if i < 150 else f"new{i % 3}" for i in range(n)],
            "x": np.arange(n, dtype=float),
            "y": ["yes" if i % 4 == 0 else "no" for i in range(n)],
        }
    )
    frame[150:].write_csv(tmp_path / "test.csv")
    table = prepared(
        frame[:150], positive="yes", id_column="who", weight_column="w", test_files=f"'{tmp_path / 'test.csv'}'",
        numeric_as="standardised",
    )  # fmt: skip
    assert [column.name for column in table.schema.columns] == ["a", "x"]
    assert table.schema.test_rows == 50
    np.testing.assert_allclose(table.weight, frame["w"].to_numpy(), rtol=1e-6)
    assert pl.read_parquet(table.folder / "ids.parquet")["who"].to_list() == frame["who"].to_list()
    assert set(table.codes("a")[150:]) == {0}  # values that the train rows lack
    assert table.numeric[:150].mean() == pytest.approx(0, abs=1e-6)  # statistics of the train rows alone
    assert table.numeric[150:].mean() > 1


@pytest.mark.parametrize(
    ("line", "told", "counted"),
    [
        (b"too,many,fields,here", r"mine.csv, line 8: 4 fields instead of 3.*errors=skip", "lines_left_out"),
        (b"too few,1", r"mine.csv, line 8: 2 fields instead of 3.*errors=skip", "lines_left_out"),
        (b"a,1.5,", r"^1 of the 60 rows of files have no label in 'y'.*errors=skip$", "rows_left_out"),
    ],
)
def test_records_that_do_not_fit_and_rows_without_a_label_are_told_or_left_out(prepared, line, told, counted):
    lines = as_csv().split(b"\n")
    lines[7] = line
    with pytest.raises(InputError, match=told):
        prepared(b"\n".join(lines))
    table = prepared(b"\n".join(lines), errors="skip")
    assert (table.n_rows, table.schema.facts[counted]) == (FRAME.height - 1, 1)


def test_what_a_column_of_text_may_be_is_asked_and_values_that_are_all_rare_are_told(prepared, capsys, caplog):
    n = 1200
    frame = pl.DataFrame(
        {
            "comma": [f"{i % 9},{i % 7}" for i in range(n)],
            "german": [f"{1 + i % 28:02}.11.2024" for i in range(n)],
            "user": [f"u{i // 2}" for i in range(n)],
            "shop": [f"{i % 3}" if i % 5 else "many" for i in range(n)],
            "y": [i % 2 for i in range(n)],
        }
    )
    with caplog.at_level("WARNING", logger="llp"):
        prepared(frame)
    shown = capsys.readouterr().out
    notes = {cells[0]: cells[-1] for line in shown.splitlines() if len(cells := line.strip("│").split("│")) == 6}
    asked = {name.strip(): note.strip() for name, note in notes.items()}
    assert asked["comma"].startswith("numbers?")
    assert asked["german"].startswith("dates?")
    assert asked["shop"].startswith("mostly numbers")
    [line] = [record.getMessage() for record in caplog.records if "rare_threshold" in record.getMessage()]
    assert line.startswith("no value of 'user' is seen more than 10 times")
    caplog.clear()
    prepared(frame, name="apart", rare_threshold=0)
    assert "rare_threshold" not in caplog.text


def test_numbers_that_a_table_cannot_hold_are_told_with_file_record_column_and_value(tmp_path):
    """An infinity, or one beyond float32, in a text file or a typed one; as texts they are values like others."""
    x = np.arange(60.0)
    for wrong, form in itertools.product((np.inf, 1e300, -np.inf), ("csv", "parquet")):
        frame = pl.DataFrame({"x": np.where(x == 7, wrong, x), "y": [0, 1] * 30})
        (folder := tmp_path / f"{wrong} {form}").mkdir()
        for name, part in (("a", frame[:5]), ("b", frame[5:])):
            getattr(part, f"write_{form}")(folder / f"{name}.{form}")
        told = rf"^.*b.{form}, record 3: column 'x' holds {str(wrong)[:2]}.*±3.4e\+38.*categorical=\[x\]$"
        with pytest.raises(InputError, match=told):
            prepare_files(folder, folder, label="y")
        prepare_files(folder, folder / "*.*", name="texts", label="y", categorical="[x]", rare_threshold=0)


def test_new_rows_are_coded_as_the_table_has_them_and_what_does_not_fit_is_told_with_its_place(plain):
    coder = Recipe.load(plain.folder).coder()
    codes, numbers, _ = coder.encode(FRAME)
    np.testing.assert_array_equal(codes.T, plain.categorical)
    np.testing.assert_array_equal(numbers, plain.numeric)
    assert coder.encode(pl.DataFrame({"shop": ["never seen"], "price": [3.0]}))[0][0, 0] == 0
    rows = pl.DataFrame({"shop": ["a"] * 4, "price": [1.0, 2.0, np.inf, 3.0]})
    with pytest.raises(InputError, match=r"^row 2: column 'price' holds 'inf', which is no number"):
        coder.encode(rows)
    narrow = Feature(name="price", column="price", value="number", mean=0.0, std=1e-3)
    coder = RowCoder([narrow], {}, Recipe.load(plain.folder).options)
    with pytest.raises(InputError, match=r"^new.csv, record 13: column 'price' holds '3e38', which is too far"):
        coder.encode(pl.DataFrame({"price": ["0", None, "3e38"]}), lambda row: f"new.csv, record {row + 11}")


def test_names_of_made_features_never_collide(prepared, caplog):
    """With columns of the files that are called so, in any order, nor with each other."""
    n = 60
    frame = pl.DataFrame(
        {
            "day": [f"2024-01-{1 + i % 28:02}" for i in range(n)],
            "day.month": [f"m{i % 3}" for i in range(n)],
            "a.bins.2": [f"c{i % 2}" for i in range(n)],
            "a.bins": [f"b{i % 4}" for i in range(n)],
            "a": np.arange(n) * 1.5,
            "c.missing": [f"d{i % 2}" for i in range(n)],
            "y": [0, 1] * (n // 2),
        }
    )
    table = prepared(frame, date_parts="[month,month,day]", rare_threshold=0)
    assert [column.name for column in table.schema.columns] == [
        "day.month.2", "day.day", "day.month", "a.bins.2", "a.bins", "a", "a.bins.3", "c.missing",
    ]  # fmt: skip
    for name in ("day.month", "a.bins.2", "a.bins"):
        assert values_of(table, name) == frame[name].to_list()
    assert set(values_of(table, "day.month.2")) == {"1"}
    assert "the files have a column 'a.bins', so what is made of 'a' is called 'a.bins.3'" in caplog.text
    assert "c.missing" in dataset_node("mine", table.schema)["key_columns"]  # a column of the files, no indicator


def test_whole_numbers_that_may_be_ids_are_told_with_what_to_write(prepared, caplog, capsys):
    rng, n = np.random.default_rng(0), 4000
    frame = pl.DataFrame(
        {
            "campaign": rng.choice(rng.integers(1000, 9999, 12), n),  # few
            "agent": rng.choice(rng.integers(1, 10**6, 200), n, p=rng.dirichlet(np.full(200, 0.3))),  # no order
            "userId": rng.integers(0, 3000, n),  # called so
            "age": np.clip(rng.normal(40, 12, n), 17, 90).round().astype(int),
            "cents": rng.integers(1, 10**6, n),
            "share": rng.choice([0.25, 0.5, 0.75], n),
            "given": rng.integers(0, 5, n),
            "paid": np.clip(rng.poisson(60, n), 30, 90),
            "late": np.append(rng.integers(0, 5, n - 1), 0.5),
            "y": [0, 1] * (n // 2),
        }
    )
    prepared(frame, numeric="[given]", file="mine.parquet")
    (told,) = [one.message for one in caplog.records if "categorical=" in one.message]
    assert "categorical=[campaign,agent,userId]; numeric=[campaign,agent,userId]" in told
    assert capsys.readouterr().out.count("ids?") == 3
    caplog.clear()
    prepared(frame, name="two", numeric="[given,userId]", categorical="[campaign,agent]", file="mine.parquet")
    assert "categorical=" not in caplog.text


def test_labels_of_few_whole_numbers_are_told_to_be_real(prepared, caplog):
    caplog.set_level("INFO", logger="llp")
    x = np.arange(60.0)
    cases = (([0, 1, 2], "WARNING"), (["0", "1.0", "2"], "WARNING"), ([0.5, 1.5, 2.5], "INFO"))
    for i, (values, level) in enumerate(cases):
        caplog.clear()
        frame = pl.DataFrame({"x": x, "y": values * 20})
        assert prepared(frame, name=f"case_{i}").label_kind == "real"
        (told,) = [one for one in caplog.records if "real numbers" in one.message]
        assert told.levelname == level
        assert level == "INFO" or ("only 0, 1, 2: of classes, write" in told.message and "positive=2;" in told.message)
    caplog.clear()
    prepared(frame, name="said", label_kind="real")
    assert "real numbers" not in caplog.text


def test_an_index_that_pandas_wrote_is_left_out_and_told(prepared, caplog):
    frame = FRAME.with_columns(pl.int_range(60).alias("__index_level_0__"))
    table = prepared(frame, file="mine.parquet")
    assert [column.name for column in table.schema.columns] == ["shop", "price", "price.bins"]
    assert "__index_level_0__ is an index that pandas wrote: left out" in caplog.text
    table = prepared(frame, file="mine.parquet", name="in", numeric="[__index_level_0__]")
    assert "__index_level_0__" in [column.name for column in table.schema.columns]


def test_value_at_the_rare_threshold_is_rare_and_one_above_it_is_not(prepared):
    seen = {"five": 5, "six": 6, "seven": 7}
    frame = pl.DataFrame({"a": [name for name, n in seen.items() for _ in range(n)], "y": [0, 1] * 9})
    for threshold, known in ((5, ["seven", "six"]), (6, ["seven"]), (4, ["seven", "six", "five"])):
        table = prepared(frame, name=f"t{threshold}", rare_threshold=threshold)
        assert Recipe.load(table.folder).vocabularies["a"].to_list() == known


@pytest.mark.parametrize("bins", [2, 32])
def test_numbers_have_as_many_bins_as_asked_each_with_as_many_rows(prepared, bins):
    frame = pl.DataFrame({"x": np.random.default_rng(0).permutation(40 * bins) / 7, "y": [0, 1] * (20 * bins)})
    table = prepared(frame, bins=bins, numeric_as="bins")
    assert np.bincount(table.codes("x")).tolist() == [0] + [40] * bins


def test_label_of_another_form_in_the_test_files_is_the_same_label(prepared, tmp_path):
    """True and true, 2 and 2.0: the text that means 1 is one whatever the file."""
    frame = pl.DataFrame({"x": np.arange(60.0), "y": [True, False, False] * 20, "z": [1, 2, 3] * 20})
    train = frame.with_columns(pl.col("y").cast(pl.String).str.to_titlecase())
    frame.cast({"z": pl.Float64}).write_parquet(tmp_path / "test.parquet")
    for label, options in (("y", {}), ("y", {"positive": "'True'"}), ("z", {"positive": "1.0"})):
        given = {"name": f"{label}{len(options)}", "ignore": {"y": "[z]", "z": "[y]"}[label]}
        table = prepared(train, label=label, test_files=f"'{tmp_path / 'test.parquet'}'", **given, **options)
        assert table.label.tolist() == [1.0, 0.0, 0.0] * 40


def test_how_rows_are_split_into_files_changes_no_digit(tmp_path):
    """Sums in the rows' order, as threads that add what they have read give other last digits in every run."""
    x = np.random.default_rng(0).normal(size=(2, 4000))
    frame = pl.DataFrame({"x": x[0], "z": x[0] ** 3, "y": x[1] ** 3, "bag": np.arange(4000) % 7})
    for folder, size in (("whole", 4000), ("parts", 113)):
        (tmp_path / folder).mkdir()
        for i, part in enumerate(frame.iter_slices(size)):
            part.write_parquet(tmp_path / folder / f"{i:03}.parquet")
        prepare_files(tmp_path, tmp_path / folder, name=f"of_{folder}", label="y", bag_column="bag", numeric="[x,z]")
    for name in ("recipe.json", "bags.parquet", "numeric.npy"):
        assert (tmp_path / "of_whole" / name).read_bytes() == (tmp_path / "of_parts" / name).read_bytes(), name


def test_ids_of_a_typed_file_and_of_a_text_are_texts_alike(prepared, tmp_path):
    frame = FRAME.with_columns(who=pl.arange(FRAME.height))
    frame.write_csv(tmp_path / "test.csv")
    table = prepared(frame, file="mine.parquet", id_column="who", test_files=f"'{tmp_path / 'test.csv'}'")
    ids = pl.read_parquet(table.folder / "ids.parquet")["who"]
    assert ids.to_list() == 2 * [str(i) for i in range(FRAME.height)]


def test_typed_files_that_differ_in_their_middle_alone_are_read(tmp_path):
    n = 200_000
    x = np.random.default_rng(0).normal(size=n)
    same = {name: np.arange(n) for name in "abcd"}
    frame = pl.DataFrame(same | {"x": x, "y": x > 0}).select("a", "b", "x", "y", "c", "d")
    paths = [tmp_path / name for name in ("a.arrow", "b.arrow")]
    frame.write_ipc(paths[0], compression="uncompressed")
    frame.with_columns(x=-pl.col("x")).write_ipc(paths[1], compression="uncompressed")
    assert paths[0].stat().st_size == paths[1].stat().st_size
    assert prepare_files(tmp_path / "data", tmp_path / "*.arrow", label="y").n_rows == 2 * n
    paths[1].write_bytes(paths[0].read_bytes())
    with pytest.raises(InputError, match=r"b.arrow holds the same lines as .*a.arrow"):
        prepare_files(tmp_path / "data", tmp_path / "*.arrow", label="y", name="again")


def test_notes_of_the_columns_are_whole_in_a_narrow_terminal():
    lazy = pl.LazyFrame({"a column of a long name": ["31.12.2024", "1.1.2025"] * 9})
    found = find_kinds(lazy, check_files_options(default_options()))
    console = rich.console.Console(width=60, file=io.StringIO())
    console.print(kinds_table(found, 18))
    shown = console.file.getvalue()
    assert found[0].note == "dates? date_format=%d.%m.%Y or alike"
    assert "…" not in shown
