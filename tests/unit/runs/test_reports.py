"""Runs of cell_glm: on every kind of bags, on a report with noise, with kept weights that score new rows."""

import numpy as np
import pytest
import torch

from llp.errors import InputError
from llp.runs.load import load_method
from tests.helpers.commands import FEW, REPORT, SIGNAL
from tests.helpers.composed import checked, grouping_key, open_table, run_of, run_one


@pytest.mark.parametrize("key", ["random_64", "fixed_C8_C16_64", "C16"])
@pytest.mark.parametrize("protocol", ["paper", "holdout"])
def test_every_kind_of_bags(tiny, key, protocol):
    record = run_one(tiny("method=cell_glm", FEW, *SIGNAL, f"grouping_key={key}", f"protocol={protocol}"))
    assert record.metric.best > 0.5
    assert record.facts["penalty"] in ("order", "query")
    assert record.n_held_out_bags == 0  # there is no epoch to choose


def test_a_report_gives_more_than_random_bags_noise_takes_some_and_each_query_is_accounted_for(tiny):
    exact, noisy = (run_one(tiny(*REPORT, *noise)) for noise in ([], ["noise=laplace", "noise.epsilon=0.3"]))
    random = run_one(tiny("grouping_key=random_512", "method=cell_glm", FEW, *SIGNAL))
    assert exact.metric.best > noisy.metric.best
    assert exact.metric.best > random.metric.best
    assert (noisy.noise.bags_of_a_row, noisy.noise.sensitivity) == (6, 6.0)
    assert exact.n_train_instances == 1600
    assert exact.facts["queries"] == ["C8", "C16", "C17", "C8_C16", "C8_C17", "C16_C17"]
    by_query = exact.facts["by_query"]
    assert [one["columns"] for one in by_query[:4]] == [["C8"], ["C16"], ["C17"], ["C8", "C16"]]
    assert sum(one["cells"] for one in by_query) == exact.facts["cells"]
    assert all(one["published"] == 1 for one in by_query[:1])
    assert all(one["coverage"] > 0.9 for one in by_query)  # a cell's own weight meets its sum
    assert max(one["carries"] for one in by_query) > 0.001
    assert {one["noise_sd"] for one in by_query} == {0.0}
    assert {round(one["noise_sd"], 2) for one in noisy.facts["by_query"]} == {round(2**0.5 * 6 / 0.3, 2)}


def test_more_and_more_epsilon_ends_at_the_exact_report(tiny):
    exact, nearly = (
        run_one(tiny(*REPORT, "method.penalty=10", *noise)) for noise in ([], ["noise=laplace", "noise.epsilon=1e9"])
    )
    assert nearly.metric.best == pytest.approx(exact.metric.best, abs=1e-4)
    assert nearly.measures["log_loss"] == pytest.approx(exact.measures["log_loss"], abs=1e-4)


def test_no_label_but_the_train_rows_sums_is_read(tiny, tmp_path):
    config = tiny(*REPORT, "save_model=true")
    run_one(config)
    table = open_table(config)
    fold = grouping_key(config).fold_bags(table, 0, checked(config).repeat)
    first = load_method(run_of(config).folder, table).model.weight.detach()
    label = np.load(table.folder / "label.npy")
    label[fold.test_rows] = 1 - label[fold.test_rows]
    a, b = _alike(table, fold.train.rows, label)
    label[[a, b]] = label[[b, a]]
    try:
        original = np.load(table.folder / "label.npy")
        np.save(table.folder / "label.npy", label)
        again = tiny(*REPORT, "save_model=true", "force=true")
        run_one(again)
        found = load_method(run_of(again).folder, table).model.weight.detach()
    finally:
        np.save(table.folder / "label.npy", original)
    assert torch.equal(found, first)


def _alike(table, rows, label):
    """Two rows with the same cells and different labels."""
    names = [table.categorical_names.index(name) for name in ("C8", "C16", "C17")]
    seen = {}
    for row in rows:
        cells = (*table.categorical[row, names],)
        if seen.setdefault(cells, row) != row and label[seen[cells]] != label[row]:
            return seen[cells], row
    raise AssertionError


def test_kept_weights_score_as_the_run_did(tiny):
    config = tiny(*REPORT, "save_model=true", "grouping_key.queries=[[C8,C16],[C17]]")
    record = run_one(config)
    table = open_table(config)
    method = load_method(run_of(config).folder, table)
    rows = grouping_key(config).fold_bags(table, 0, checked(config).repeat).test_rows
    scores = method.score(torch.from_numpy(table.categorical[rows]), torch.from_numpy(table.numeric[rows]))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, torch.from_numpy(table.label[rows]))
    assert loss.item() == pytest.approx(record.measures["log_loss"], abs=1e-6)
    assert set(record.facts["queries"]) == {"C8_C16", "C17"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["grouping_key.queries=[[C8,zip]]"], "lists of different columns of C8, C16, C17, such as grouping_key.que"),
        (["grouping_key.queries=[[C8,C8]]"], "lists of different columns"),
        (["grouping_key.queries=[[C8],[C8]]"], "each query once"),
        (["grouping_key.least_count=5000"], "no cell holds 5000 rows: write a smaller least_count"),
        (["method=dllp_bce", "protocol=holdout"], "the cells of a report share rows, so none can be held out"),
        (["method.queries=[[C8,zip]]"], "such as method.queries=[[N1]]"),
        (["model=mlp"], "method=cell_glm has its own, model=cell_weights"),
        (["method.penalty=-1"], "Invalid method.penalty=-1"),
        (["method.penalty='most'"], "Invalid method.penalty='most'"),
        (["grouping_key.queries=triples"], "Invalid grouping_key.queries='triples'"),
        (["noise.shares=foo", "noise=laplace"], "such as noise.shares={a: 0.5"),
        (["noise.delta=1", "noise=gaussian"], "such as noise.delta=1e-06"),
        (["method=distilled", "method.first_stage.penalty=-1"], "Invalid method.first_stage.penalty=-1"),
        (["method=dllp_bce", "model=cell_weights"], "Invalid model=cell_weights: method=cell_glm has its own"),
        (["grouping_key=random_64", "method.queries=[]"], "Invalid method=cell_glm: it has a weight for each cell"),
    ],
)
def test_what_is_wrong_or_would_learn_nothing_is_refused_as_it_is_written(tiny, options, problem):
    report = REPORT if options[0] != "grouping_key=random_64" else ("method=cell_glm",)
    with pytest.raises(InputError) as error:
        run_one(tiny(*report, *options))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_the_least_epsilon_has_a_record(tiny):
    record = run_one(tiny(*REPORT, "noise=laplace", "noise.epsilon=1e-20", "method.penalty=rule"))
    assert record.noise.quieter is None
