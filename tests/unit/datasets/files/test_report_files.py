"""Reports in files: each form gives the same cells, and what a report says that cannot be is refused in one line."""

import hashlib

import numpy as np
import polars as pl
import pytest

from llp.data.datamodule import Batching, HeldOut, LLPDataModule
from llp.data.keys import GivenKey
from llp.errors import InputError
from tests.helpers.own_files import prepare_files

pytestmark = pytest.mark.run  # prepares data

N = 600
QUERIES = ((), ("hash_0",), ("hash_7",), ("hash_0", "hash_7"))
NAMES = {query: "_".join(query) or "total" for query in QUERIES}


def made(n=N, seed=0):
    rng = np.random.default_rng(seed)
    hashed = {f"hash_{i}": rng.choice([1447, -23, 88211, 5], n) for i in (0, 7)}
    return pl.DataFrame(hashed | {"price": rng.normal(size=n).round(2), "click": rng.integers(0, 2, n)})


ROWS = made()


def cells(query, rows=ROWS):
    sums = {"label_sum": pl.col("click").sum().cast(pl.Float64), "count": pl.len()}
    return rows.group_by(query, maintain_order=True).agg(**sums) if query else rows.select(**sums)


def single_files(folder, queries=QUERIES):
    for query in queries:
        cells(query).write_csv(folder / f"{NAMES[query]}.csv")
    return [f"{NAMES[query]}.csv" for query in queries], []


def challenge(query):
    """The cells of a query as the challenge's files have them."""
    sums = {"nb_clicks": pl.col("label_sum"), "nb_sales": pl.lit(-8.8)}
    named = [
        expression
        for place, name in enumerate(query, 1)
        for expression in (pl.col(name).alias(F(place, "value")), pl.lit(int(name[5:])).alias(F(place, "id")))
    ]
    return cells(query).select(*named, pl.col("count").cast(pl.Float64), **sums)


F = "feature_{}_{}".format
TURNED = {F(a, of): F(b, of) for a, b in ((1, 2), (2, 1)) for of in ("id", "value")}
A, SINGLES, PAIRS = cells(("hash_0",)), challenge(("hash_0",)), challenge(("hash_0", "hash_7"))
LONG = pl.concat([cells(q).select(pl.lit(NAMES[q]).alias("query"), pl.all()) for q in QUERIES], how="diagonal")


def long_file(folder):
    LONG.write_csv(folder / "long.csv")
    return ["long.csv"], []


def adkdd_files(folder):
    pl.concat([SINGLES, challenge(("hash_7",))]).write_csv(folder / "singles.csv")
    pl.concat([PAIRS[::2], PAIRS[1::2].rename(TURNED)], how="diagonal").write_csv(folder / "pairs.csv")
    return ["singles.csv", "pairs.csv"], []


SHARES = {(): 0.1, ("hash_0",): 0.25, ("hash_7",): 0.25, ("hash_0", "hash_7"): 0.4}


def hash_of(query):
    said = "+".join(f'"&{name}="+v{i}' for i, name in enumerate(query, 1)).replace("&", "", 1)
    return f"sha256-16({said})" if query else 'sha256-16("total")'


def summary_file(folder, further=()):
    buckets, metrics = [*(one for one, _ in further)], [*(one for _, one in further)]
    for query in QUERIES:
        for row in cells(query).iter_rows(named=True):
            said = "&".join(f"{name}={row[name]}" for name in query) or "total"
            buckets.append(hashlib.sha256(said.encode()).digest()[:16].lstrip(b"\0"))
            metrics.append(round(row["label_sum"] * SHARES[query] * 2**16))
    pl.DataFrame({"bucket": buckets, "metric": metrics}).write_avro(folder / "summary.avro")
    pl.DataFrame(
        {
            "query": [NAMES[query] for query in QUERIES],
            "columns": ["|".join(query) for query in QUERIES],
            "hash": [hash_of(query) for query in QUERIES],
            "l1_share": [SHARES[query] for query in QUERIES],
        }
    ).write_csv(folder / "queries.csv")
    return ["summary.avro"], [f"queries='{folder / 'queries.csv'}'"]


FORMS = {"a file per query": single_files, "long": long_file, "adkdd": adkdd_files, "summary": summary_file}


@pytest.fixture
def write(tmp_path):
    """Prepares the rows with a report that a function writes into the folder, or with files that are given."""

    def prepared(report, *options, rows=ROWS, name="mine", **given):
        rows.drop("click").write_csv(tmp_path / "rows.csv")
        if not options or not any(one.startswith("test_files=") for one in options):
            made(200, 1).write_csv(tmp_path / "test.csv")
            given = {"test_files": f"'{tmp_path / 'test.csv'}'", "label": "click"} | given
        files, more = report(tmp_path) if callable(report) else report
        listed = "[" + ",".join(f"'{tmp_path / one}'" for one in files) + "]"
        return prepare_files(
            tmp_path / "data", tmp_path / "rows.csv", f"reports={listed}", *more, *options, name=name, **given
        )

    return prepared


def by_cell(table):
    bags = pl.read_parquet(table.folder / "bags.parquet").sort("id")
    return dict(zip(bags["id"], bags["label_sum"], strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_cells_of_its_report(write, form):
    table = write(FORMS[form])
    expected = {}
    for query in QUERIES[form == "adkdd" :]:
        for row in cells(query).iter_rows(named=True):
            expected[" ".join(f"{name}={row[name]}" for name in query) or "total"] = row["label_sum"]
    assert by_cell(table) == pytest.approx(expected, abs=1e-4)
    bags = GivenKey(n_folds=5).fold_bags(table, 0).train
    assert [len(query) for query in bags.cells.queries] == sorted(len(query) for query in bags.cells.queries)
    click = ROWS["click"].to_numpy()
    sums = np.add.reduceat(click[bags.rows].astype(float), bags.offsets[:-1])
    np.testing.assert_allclose(bags.label_sum, sums, atol=1e-4)
    assert table.schema.source["reports"][-1]["sha256"]
    assert table.label_kind == "binary"


def test_noise_is_what_a_file_an_option_or_a_share_says(write, tmp_path):
    variance = lambda table: pl.read_parquet(table.folder / "bags.parquet")["noise_variance"]  # noqa: E731
    assert variance(write(single_files, "noise_sd=17")).unique().to_list() == [289.0]

    def own(folder):
        for query in QUERIES[:2]:
            cells(query).with_columns(**{"noise_scale" if query else "noise_sd": pl.lit(3.0)}).write_csv(
                folder / f"{NAMES[query]}.csv"
            )
        return single_files(folder, ())[0] + [f"{NAMES[query]}.csv" for query in QUERIES[:2]], []

    assert set(variance(write(own, name="own"))) == {9.0, 18.0}
    summary = write(summary_file, "epsilon=2", name="summary")
    assert "epsilon" not in summary.schema.facts  # its cells share it
    found = variance(summary)
    assert set(found.round(6)) == {round(2 / (2 * share) ** 2, 6) for share in SHARES.values()}


def but(table=A, **values):
    """A frame whose columns have other first values."""
    first = pl.int_range(pl.len()) == 0
    return table.with_columns(
        pl.when(first).then(pl.lit(one)).otherwise(name).alias(name) for name, one in values.items()
    )


def changed(name, change):
    """A summary beside its file of queries, one of which is changed."""

    def report(folder):
        files, options = summary_file(folder)
        path = folder / name
        if name == "queries.csv":
            change(pl.read_csv(path)).write_csv(path)
        else:
            change(pl.read_avro(path)).write_avro(path)
        return files, options

    return report


def text_queries(text, table=LONG):
    def report(folder):
        table.write_csv(folder / "long.csv")
        (folder / "queries.csv").write_text(text)
        return ["long.csv"], [f"queries='{folder / 'queries.csv'}'"]

    return report


WRONG = {  # the report, what is said, and the options
    "two lines of a cell": (pl.concat([A, A[1:2]]), "the cell hash_0=88211 ({f}, record 2) stands twice, again"),
    "two lines of one value": (A.cast({"hash_0": pl.String}).vstack(A[:1].with_columns(hash_0=pl.lit("5.0"))), "twice"),
    "two totals": (cells(()).vstack(cells(())), "the cell total ({f}, record 1) stands twice, again in {f}, rec"),
    "two lines of a cell no row is in": (A.vstack(A[:2].with_columns(hash_0=pl.lit(99, pl.Int64))), "record 5) stands"),
    "a sum beyond its count": (but(label_sum=500.0), "({f}, record 1) of 168 rows has label_sum 500"),
    "a sum below 0": (but(label_sum=-3.0), "has label_sum -3", "label_kind=binary"),
    "a sum beyond its noise": (but(label_sum=500.0).with_columns(noise_sd=2.0), "more noise than that of a standard d"),
    "a count that is not the rows'": (but(count=100), "({f}, record 1) has count 100 and 168 rows"),
    "a count beyond its noise": (
        but(count=500).with_columns(noise_sd=2.0),
        "count 500 and 168 rows; expected a report",
    ),
    "a count below 0": (but(count=-1), "count of the cell hash_0=5 ({f}, record 1) is -1.0"),
    "noise below 0": (A.with_columns(noise_sd=-1.0), "noise_sd of the cell hash_0=5 ({f}, record 1) is -1.0"),
    "two laws of noise": (A.with_columns(noise_sd=1.0, noise_scale=1.0), "it has noise_sd and noise_scale"),
    "noise of some cells": (
        A.with_columns(noise_sd=pl.Series([1.0, None, 1.0, 1.0])),
        "{f}, record 2: noise_sd is Non",
    ),
    "a sum that is no number": (
        but(A.cast({"label_sum": pl.String}), label_sum="many"),
        "record 1: label_sum is 'many'",
    ),
    "a sum that is missing": (but(label_sum=None), "{f}, record 1: label_sum is None, expected a number"),
    "an endless sum": (but(label_sum=float("inf")), "label_sum of the cell hash_0=5"),
    "a column that is not there": (A.rename({"hash_0": "hash_1"}), "{f}, record 1: the query is of 'hash_1', wh"),
    "a column that is the label's": (A.rename({"hash_0": "click"}), "the query is of 'click'"),
    "no sums": (A.drop("label_sum"), "{f} has no column 'label_sum'; it has hash_0, count; expected key columns"),
    "no value of the rows": (A.with_columns(pl.col("hash_0") + 3), "no cell holds a row"),
    "a number as a query": (A, "Invalid numeric=hash_0: reports= has a query of it", "numeric=[hash_0]"),
    "an unused option": (A, "noise_sd", "noise_sd=-1"),
    "noise that is stated twice": (A.with_columns(noise_sd=1.0), "Invalid noise_sd=2: no file of re", "noise_sd=2"),
    "an epsilon of no summary": (A, "Invalid epsilon=1: no file of reports= lacks", "epsilon=1"),
    "bags beside": (A, "Invalid bag_column=price: the cells of reports= are the bags", "bag_column=price"),
    "another kind of rows": (A, "rows", "rows=some"),
    "no counts of a sample": (A.drop("count"), "Invalid rows=unknown: the cell hash_0=5", "rows=unknown"),
    "sums beyond the counts of a sample": (but(label_sum=500.0), "of 168 rows has label_sum 500", "rows=unknown"),
    "an unknown query": (
        LONG.with_columns(pl.col("query").replace("hash_7", "hash_9")),
        "{f}, record 6: the query 'hash_9' is named of no columns of hash_0, hash_7; expected columns side by side",
    ),
    "a query in two ways": (
        LONG.with_columns(query=pl.lit("a_b_c")).rename({"hash_0": "a", "hash_7": "b_c"}).with_columns(a_b=1, c=1),
        "is named in several ways",
    ),
    "a value of another column": (
        LONG.with_columns(pl.when(pl.int_range(pl.len()) == 2).then(5).otherwise("hash_7").alias("hash_7")),
        "{f}, record 3: hash_7 is '5', but the query 'hash_0' is of hash_0; expected it empty",
    ),
    "queries without columns": (text_queries("query\nhash_0\n"), "queries.csv has no column 'columns'; it has q"),
    "a query that is not listed": (
        text_queries("query,columns\nhash_0,hash_0\n"),
        "'total' is not in queries=; expected",
    ),
    "a query that is listed twice": (text_queries("query,columns\ntotal,\ntotal,\n"), "record 1: the query 'total' st"),
    "a listed column that is not there": (text_queries("query,columns\ntotal,hash_3\n"), "'hash_3', which is no colum"),
    "no label of the challenge": (SINGLES, "expected label=click", "label=null", "test_files=null"),
    "another label": (SINGLES.drop("nb_clicks"), "has the sums nb_sales, and label=click; expec"),
    "no value of the challenge": (SINGLES.drop("feature_1_value"), "{f} has no column 'feature_1_value'"),
    "a feature that is none": (but(SINGLES, feature_1_id=0.5), "{f}, record 1: feature_1_id is 0.5, expected the n"),
    "a feature that the rows lack": (SINGLES.with_columns(feature_1_id=pl.lit(3)), "the query is of 'hash_3'"),
    "a pair with itself": (PAIRS.with_columns(feature_2_id=pl.lit(0)), "{f}, record 1: feature_1_id and feature"),
    "a pair in both orders": (
        pl.concat([PAIRS, PAIRS[:1].rename(TURNED)], how="diagonal"),
        "({f}, record 1) stands twice, again in {f}, record 17",
    ),
    "a summary without queries": (lambda folder: (summary_file(folder)[0], []), "avro holds hashes; expected queries="),
    "queries without a hash": (
        changed("queries.csv", lambda listed: listed.drop("hash")),
        "queries.csv has no column 'hash'",
    ),
    "another hash": (
        changed("queries.csv", lambda listed: but(listed, hash="md5(v1)")),
        "queries.csv, record 1: hash is 'md5(v1)', exp",
    ),
    "a hash of fewer values": (
        changed("queries.csv", lambda listed: but(listed, hash='sha256-16("a"+v1)')),
        "record 1: hash is 'sha25",
    ),
    "shares above 1": (
        changed("queries.csv", lambda listed: listed.with_columns(l1_share=0.5)),
        "l1_share is [0.5, 0.5, 0.5, 0.5]; exp",
    ),
    "a bucket twice": (
        changed("summary.avro", lambda one: pl.concat([one, one[1:2]])),
        "summary.avro, record 2) stands twice, again in",
    ),
    "a bucket too long": (
        changed("summary.avro", lambda one: but(one, bucket=b"x" * 17)),
        "avro, record 1: bucket has more than 16 byt",
    ),
    "a summary of texts": (
        changed("summary.avro", lambda one: one.with_columns(bucket=pl.lit("x"))),
        "expected bucket (bytes) and met",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_reports_are_refused_in_one_line_and_leave_nothing(write, tmp_path, case):
    report, said, *options = WRONG[case]
    file = tmp_path / "report.csv"
    if isinstance(report, pl.DataFrame):
        report.write_csv(file)
        report = ["report.csv"], []
    with pytest.raises(InputError) as error:
        write(report, *options)
    assert said.format(f=file) in str(error.value)
    assert "\n" not in str(error.value)
    assert [path for path in (tmp_path / "data").glob("*") if path.is_dir()] == []


def split_of(table):
    key = GivenKey(n_folds=5)
    held_out, batching = HeldOut("paper", 0.0, 1.0), Batching(8, 8, instance_labels=False, seed=0, num_workers=0)
    return LLPDataModule(table, key, key.fold_bags(table, 0), held_out, batching).train_split


def test_sample_brings_the_counts_of_its_report(write, caplog):
    caplog.set_level("INFO")
    split = split_of(write(single_files, "rows=unknown", rows=ROWS[:150]))
    bags = split.bags
    assert len(bags.cells.queries) == 4
    assert bags.instances.tolist() == list(range(150))
    assert {*bags.counts[:9]} == {*(float(size) for query in QUERIES[:3] for size in cells(query)["count"])}
    assert (bags.sizes < bags.counts).all()
    np.testing.assert_allclose(bags.label_sum[0], ROWS["click"].sum())
    assert split.labelled is None


def test_noisy_counts_of_a_sample_are_at_least_its_rows(write, caplog):
    def noisy(folder):
        but(count=-7.5).with_columns(noise_sd=20.0).write_csv(folder / "noisy.csv")
        return ["noisy.csv"], []

    bags = split_of(write(noisy, "rows=unknown")).bags
    assert bags.counts.tolist() == bags.sizes.tolist() == A["count"].to_list()
    assert "1 of the 4 cells have a count below their rows in the sample, such as the cell hash_0=5" in caplog.text


@pytest.mark.parametrize("in_a_file", [True, False])
def test_labelled_rows_are_handed_over_beside_the_report(write, tmp_path, in_a_file):
    further = made(80, 5)
    if in_a_file:
        further.write_csv(tmp_path / "labelled.csv")
        table = write(single_files, f"labelled='{tmp_path / 'labelled.csv'}'")
        rows, labels = np.arange(N, N + 80), further["click"]
    else:
        some = pl.when(pl.int_range(pl.len()) % 7 == 0).then("click")
        ROWS.with_columns(some).write_csv(tmp_path / "some.csv")
        made(200, 1).write_csv(tmp_path / "test.csv")
        files, _ = single_files(tmp_path)
        listed = ",".join(f"'{tmp_path / one}'" for one in files)
        table = prepare_files(
            tmp_path / "data", tmp_path / "some.csv", f"reports=[{listed}]", label="click",
            test_files=f"'{tmp_path / 'test.csv'}'",
        )  # fmt: skip
        rows, labels = np.arange(0, N, 7), ROWS["click"].gather_every(7)
    split = split_of(table)
    assert split.labelled.rows.tolist() == rows.tolist()
    assert split.labelled.labels.tolist() == labels.to_list()
    assert split.bags.instances.tolist() == list(range(N))
    assert by_cell(table) == by_cell(write(single_files, name="plain"))


def test_values_that_the_rows_lack_and_totals_that_disagree_are_said(write, caplog):
    def odd(folder):
        more = pl.DataFrame({"hash_0": [77], "label_sum": [1.0], "count": [3]}).cast(A.schema)
        pl.concat([A, more]).write_csv(folder / "a.csv")
        cells(("hash_7",)).with_columns(pl.col("label_sum") - 20).write_csv(folder / "b.csv")
        return ["a.csv", "b.csv"], []

    write(odd)
    assert "1 cells of the report hold no row of the table, and are left out, such as the cell hash_0=77" in caplog.text
    assert "a.csv, record 5)" in caplog.text
    assert "the sums of the query hash_7 add up to 232, those of hash_0 to 312" in caplog.text
    caplog.clear()
    write(odd, "noise_sd=10", name="noisy")
    assert "add up" not in caplog.text


def test_buckets_of_no_value_are_counted(write, caplog):
    write(lambda folder: summary_file(folder, further=[(b"other", 5), (b"more", 7)]))
    assert "2 of the 27 buckets of" in caplog.text
