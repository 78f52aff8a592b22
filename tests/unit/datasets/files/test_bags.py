"""Given bags: a column of bag ids, with labels of rows or of bags alone."""

import numpy as np
import polars as pl
import pytest

from llp.data.keys import GivenKey, RandomKey
from llp.errors import InputError
from tests.helpers.own_files import prepare_files, shop_rows

pytestmark = pytest.mark.run  # prepares data

N = 600


def rows(n=N, seed=0):
    return shop_rows(n, seed).select("campaign", "shop", "price", "bought")


def stated(frame, *, mean=False):
    """One row per bag, in another order than the ids'."""
    label = pl.col("bought").mean().alias("label_mean") if mean else pl.col("bought").sum().alias("label_sum")
    return frame.group_by("campaign").agg(label, pl.len().alias("size")).sort("size", "campaign")


@pytest.fixture
def write(tmp_path):
    """Writes the files and prepares them; what is given takes the place of what is written."""

    def prepared(*options, name="mine", train=None, bags=None, test=None, **given):
        frame = rows()
        (frame.drop("bought") if train is None else train).write_csv(tmp_path / "train.csv")
        (stated(frame) if bags is None else bags).write_csv(tmp_path / "bags.csv", separator=";")
        if test is not None:
            test.write_parquet(tmp_path / "test.parquet")
            given |= {"test_files": f"'{tmp_path / 'test.parquet'}'", "label": "bought"}
        options = [f"bags='{tmp_path / 'bags.csv'}'", "bag_column=campaign", *options]
        return prepare_files(tmp_path / "data", tmp_path / "train.csv", *options, name=name, **given)

    return prepared


def sums_by_id(table):
    bags, ids = GivenKey(n_folds=5).all_bags(table), pl.read_parquet(table.folder / "bags.parquet")["id"]
    return dict(zip(ids, bags.label_sum, strict=True)), dict(zip(ids, bags.sizes, strict=True))


def overlapping(frame):
    """Every third row is in a second bag too, of its region."""
    region = [f"| r{i % 4} " if i % 3 == 0 else "" for i in range(len(frame))]
    return frame.with_columns(campaign=pl.concat_str(pl.col("campaign"), pl.Series(region)))


def members(frame):
    """By bag, the rows of a frame whose bags stand with | between them, one by one."""
    found = {}
    for row, names in enumerate(frame["campaign"]):
        for name in names.split("|"):
            found.setdefault(name.strip(), []).append(row)
    return found


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("label", ["of rows", "label_sum", "label_mean"])
def test_bags_have_the_rows_and_the_sums_that_the_files_state(write, overlap, label):
    frame = overlapping(rows()) if overlap else rows()
    expected, bought = members(frame), frame["bought"].to_numpy()
    sums = {bag: int(bought[of_bag].sum()) for bag, of_bag in expected.items()}
    options = ["overlap=true"] if overlap else []
    if label == "of rows":
        table = write(*options, "label=bought", "bags=null", train=frame)
        np.testing.assert_array_equal(table.label, bought)
    else:
        values = [one / len(expected[bag]) if label == "label_mean" else one for bag, one in sums.items()]
        bags = pl.DataFrame({"campaign": list(sums), label: values, "size": list(map(len, expected.values()))})
        table = write(*options, train=frame.drop("bought"), bags=bags.sort("size"))
        assert np.isnan(table.label).all()
    assert (table.n_rows, table.label_kind) == (N, "binary")
    assert table.schema.aggregates_only == (label != "of rows")
    assert "campaign" not in [column.name for column in table.schema.columns]
    bags, ids = GivenKey(n_folds=5).all_bags(table), pl.read_parquet(table.folder / "bags.parquet")["id"]
    assert ids.to_list() == sorted(expected)
    for number, bag in enumerate(ids):
        assert bags.rows[bags.offsets[number] : bags.offsets[number + 1]].tolist() == expected[bag]
        assert bags.label_sum[number] == pytest.approx(sums[bag])


def test_folds_are_of_whole_bags_and_a_test_file_is_the_test_split(write, tmp_path):
    table = write()
    folds = [GivenKey(n_folds=5).fold_bags(table, fold) for fold in range(5)]
    assert sorted(np.concatenate([fold.test_bags.rows for fold in folds])) == list(range(N))
    for fold in folds:
        assert not set(fold.train.rows) & set(fold.test_bags.rows)
        assert len(fold.train.rows) + len(fold.test_bags.rows) == N
        assert len(fold.test_rows) == 0
    everything = GivenKey(n_folds=1).fold_bags(table, 0)
    assert len(everything.train) == 30
    tested = write(name="tested", test=rows(200, seed=1).drop("campaign"))
    fold = GivenKey(n_folds=5).fold_bags(tested, 0)
    assert fold.test_rows.tolist() == list(range(N, N + 200))
    assert sorted(fold.train.rows) == list(range(N)), "a row without a bag is in one"
    assert len(fold.train) == len(fold.train.sizes) == 30
    assert set(tested.label[N:]) == {0.0, 1.0}
    assert np.isnan(tested.label[:N]).all()
    for key, number in ((GivenKey(n_folds=5), 1), (RandomKey(bag_size=64, seed=0), 0)):
        with pytest.raises(InputError, match=r"expected (fold=0|grouping_key=given)$"):
            key.fold_bags(tested, number)


def test_real_labels_and_noisy_sums_are_used_as_they_are(write):
    noisy = stated(rows()).with_columns(label_sum=pl.col("label_sum") * 3.0 - 20)
    assert write("label_kind=real", bags=noisy).label_kind == "real"
    with pytest.raises(InputError, match=r"^Invalid epsilon=0.5: .*expected none where labels are real numbers$"):
        write("label_kind=real", "epsilon=0.5", name="refused", bags=noisy)
    table = write("epsilon=0.5", name="noisy", bags=noisy)
    assert table.label_kind == "binary"  # as the noise was declared
    sums, _ = sums_by_id(table)
    assert min(sums.values()) < 0
    assert sums == pytest.approx(dict(zip(noisy["campaign"], noisy["label_sum"], strict=True)))


def of_c07(value, label="label_sum"):
    """The stated bags, of which c07 has another label."""
    frame = stated(rows(), mean=label == "label_mean").cast({label: pl.Float64})
    return frame.with_columns(pl.when(pl.col("campaign") == "c07").then(value).otherwise(label).alias(label))


IMPOSSIBLE = {
    "below 0": (of_c07(-5.0), r"label_sum -5: labels of 0 and 1 sum to 0 up to the number of rows; correct it, or s"),
    "above the size": (of_c07(50.0).drop("size"), r"label_sum 50: labels of 0 and 1 .*label_kind=real for other"),
    "above 32 bits": (of_c07(1e300), r"label_sum 1e\+300: expected a number whose sum is at most 3e\+38; correct it$"),
    "mean above 1": (of_c07(1.3, "label_mean"), r"label_mean 1.3: means of labels 0 and 1 lie in 0 to 1; correct it"),
    "percent": (stated(rows(), mean=True).with_columns(pl.col("label_mean") * 100), r"label_mean [\d.]+ \(and \d+ m"),
}


@pytest.mark.parametrize(("value", "option", "warns"), [(2.5, [], True), (2.0, [], False), (2.5, ["epsilon=1"], False)])
def test_fractional_sums_of_labels_0_and_1_are_pointed_out(write, caplog, value, option, warns):
    write("label_kind=binary", *option, bags=of_c07(value))
    assert ("1 of the" in caplog.text and "no integers, such as 2.5 of bag 'c07'" in caplog.text) == warns


@pytest.mark.parametrize("case", IMPOSSIBLE)
@pytest.mark.parametrize("kind", ["auto", "binary"])
def test_sums_that_labels_of_0_and_1_cannot_have_are_refused_with_the_bag(write, case, kind):
    bags, said = IMPOSSIBLE[case]
    if case == "percent" and kind == "auto":
        assert write(bags=bags).label_kind == "real"  # most of the means say so
        return
    with pytest.raises(InputError, match=rf"^bag 'c\d\d' of \d+ rows has {said}") as error:
        write(f"label_kind={kind}", bags=bags)
    assert ("percentages" in str(error.value)) == (case in ("percent", "mean above 1"))


def test_sums_that_declared_noise_explains_are_counted_and_others_refused(write, caplog):
    table = write("label_kind=binary", "epsilon=0.5", bags=of_c07(-5.0))
    assert "noise has moved 1 of the 30 sums below 0 or above the size of their bag" in caplog.text
    assert (table.schema.facts["epsilon"], table.schema.facts["sums_outside"]) == (0.5, 1)
    with pytest.raises(InputError, match=r"'c07' .* label_sum -500: .* noise of scale 1/epsilon = 2 does not reach so"):
        write("label_kind=binary", "epsilon=0.5", name="far", bags=of_c07(-500.0))


def test_a_mean_with_few_digits_is_no_impossible_sum(write):
    whole = stated(rows(), mean=True).with_columns(label_mean=pl.col("label_mean").round(2))
    assert write("label_kind=binary", bags=whole).label_kind == "binary"


def test_sizes_that_differ_are_refused_with_the_bag_or_the_rows_count(write):
    wrong = stated(rows()).with_columns(size=pl.when(pl.col("campaign") == "c07").then(99).otherwise("size"))
    with pytest.raises(InputError, match=r"^bag 'c07' has size 99 in bags= and \d+ rows in files=; .*trust_rows$"):
        write(bags=wrong)
    _, sizes = sums_by_id(write("bag_sizes=trust_rows", bags=wrong))
    assert sizes["c07"] == rows().filter(campaign="c07").height


def test_bags_in_one_file_alone_are_refused_with_examples_or_dropped(write):
    frame = rows()
    fewer = stated(frame).filter(~pl.col("campaign").is_in(["c03", "c21"]))
    with pytest.raises(InputError, match=r"^2 bag\(s\) are in files= and not in bags=, such as 'c03', 'c21'; .*=drop$"):
        write(bags=fewer)
    more = pl.concat([stated(frame), stated(frame)[:1].with_columns(campaign=pl.lit("x"))])
    with pytest.raises(InputError, match=r"^1 bag\(s\) are in bags= and have no row in files=, such as 'x'"):
        write(bags=more)
    table = write("unmatched_bags=drop", bags=fewer)
    assert table.schema.given_bags == 28
    assert table.n_rows == frame.filter(~pl.col("campaign").is_in(["c03", "c21"])).height
    assert table.schema.facts["rows_left_out"] == N - table.n_rows


def test_what_is_wrong_with_the_file_of_bags_is_told(write):
    good = stated(rows())
    for bags, message in (
        (pl.concat([good, good[:2]]), r"bag 'c\d\d' stands twice \(and 1 more\); write one row per bag$"),
        (good.rename({"label_sum": "total"}), r"expected one of the columns label_sum and label_mean, it has neither"),
        (good.with_columns(label_mean=0.5), r"it has both$"),
        (good.rename({"campaign": "id"}), r"has no column 'campaign', which bag_column= names"),
        (good.rename({"size": "12"}), r"the number 12, so it may be no header; its first line has to name the columns"),
        (good.with_columns(label_sum=pl.lit("many")), r"label_sum of bag 'c\d\d' is no number"),
        (good.with_columns(campaign=pl.col("campaign") + "x"), r"^30 bag\(s\) are in files= and not in bags="),
    ):
        with pytest.raises(InputError, match=message):
            write(bags=bags)
    without = rows().drop("bought").with_columns(campaign=pl.when(pl.int_range(N) > 3).then("campaign"))
    for frame, message in (
        (without, r"^4 of the 600 rows of files name no bag in 'campaign'"),
        (overlapping(rows()).drop("bought"), r"^\d+ bag\(s\) are in files= and not.*a\|b, needs overlap=true"),
    ):
        with pytest.raises(InputError, match=message):
            write(train=frame)


def test_test_rows_of_overlapping_bags_are_in_no_train_bag(write):
    table = write("overlap=true", "label=bought", "bags=null", train=overlapping(rows()))
    for fold in range(5):
        found = GivenKey(n_folds=5).fold_bags(table, fold)
        assert len(found.test_rows)
        assert not set(found.test_rows) & set(found.train.rows)
        assert (np.diff(found.test_rows) > 0).all()


def test_test_bags_that_overlap_share_no_row_with_a_train_bag(write):
    """Without labels of rows, bags measure: those that share a row with a test bag are left out of the training."""
    frame = rows().with_columns(
        pl.when(pl.int_range(N) % 60 == 0).then(pl.col("campaign") + "|c00").otherwise("campaign")
    )
    sums = pl.DataFrame({"campaign": sorted(members(frame)), "label_sum": 1})
    table = write("overlap=true", train=frame.drop("bought"), bags=sums)
    left_out = 0
    for fold in range(5):
        found = GivenKey(n_folds=5).fold_bags(table, fold)
        assert not set(found.test_bags.rows) & set(found.train.rows)
        assert len(found.train) + len(found.test_bags) + found.n_left_out == 30
        left_out += found.n_left_out
    assert left_out > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [([], "every train bag of mine shares"), (["label=bought", "bags=null"], "every row in a test")],
)
def test_bags_that_overlap_wholly_leave_nothing_to_measure(write, options, said):
    everywhere = rows().with_columns(campaign=pl.lit("|".join(f"c{i}" for i in range(20))))
    sums = pl.DataFrame({"campaign": [f"c{i}" for i in range(20)], "label_sum": 1})
    table = write("overlap=true", *options, train=everywhere if options else everywhere.drop("bought"), bags=sums)
    with pytest.raises(InputError, match=rf"^Invalid grouping_key.n_folds=5: {said}"):
        GivenKey(n_folds=5).fold_bags(table, 0)
