"""Runs of cell_glm and distilled: on every kind of bags, on a report with noise, with kept weights that score."""

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


def test_no_label_of_a_test_row_is_read(tiny):
    config = tiny(*REPORT, "save_model=true")
    run_one(config)
    table = open_table(config)
    path, folder = table.folder / "label.npy", run_of(config).folder
    first, original = load_method(folder, table).model.weight.detach(), np.load(path)
    flipped, rows = original.copy(), grouping_key(config).fold_bags(table, 0, checked(config).repeat).test_rows
    flipped[rows] = 1 - flipped[rows]
    np.save(path, flipped)
    try:
        run_one(tiny(*REPORT, "save_model=true", "force=true"))
    finally:
        np.save(path, original)
    assert torch.equal(load_method(folder, table).model.weight.detach(), first)


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


DISTILLED = ("method=distilled", "trainer.max_epochs=5", "trainer.instances_per_batch=16", "optimizer.lr=0.01")


@pytest.mark.parametrize(
    ("protocol", "key"),
    [
        ("paper", REPORT[:-1]),
        ("holdout", REPORT[:-1]),
        ("paper", ("grouping_key=random_64", *SIGNAL)),
        ("holdout", ("grouping_key=C16", *SIGNAL)),
    ],
)
def test_it_learns_what_its_first_stage_says(tiny, key, protocol):
    few = [] if key[0] == "grouping_key=report" else [FEW.replace("method.", "method.first_stage.")]
    record = run_one(tiny(*key, *DISTILLED, *few, f"protocol={protocol}"))
    assert [stage.method for stage in record.stages] == ["cell_glm", "distilled"]
    assert not record.instance_labels
    assert record.model == "mlp"
    assert record.metric.best > 0.52


def test_the_first_stage_is_the_run_of_cell_glm_itself(tiny):
    run_one(tiny(*REPORT, *DISTILLED[1:], "save_model=true"))
    assert run_one(tiny(*REPORT[:-1], *DISTILLED)).stages[0].reused


def test_a_teacher_without_a_model_is_refused_before_it_is_trained(tiny, tmp_path):
    config = tiny("method=distilled")
    config.method.first_stage = tiny("method=group_prior").method
    with pytest.raises(InputError, match=r"^Invalid method.first_stage=.?group_prior.?: expected a method with a "):
        run_one(config)
    assert not list(tmp_path.rglob("error.json"))
