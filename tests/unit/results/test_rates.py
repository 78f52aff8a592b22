"""Learning rates are chosen by what was held out, on the folds that all rates have, and never by test rows."""

import pytest

from llp.results.collect import collect
from llp.results.rates import at_held_out_rates
from llp.results.variants import name_variants
from tests.helpers.composed import report
from tests.helpers.records import write_run

pytestmark = pytest.mark.run  # reports

HOLDOUT = {"protocol": "holdout", "grouping_key": "random_64"}


def write(outputs, rate, auc, held_out, **changes):
    changes = HOLDOUT | changes
    return write_run(
        outputs, auc, held_out=held_out, config={"optimizer": {"lr": rate}}, config_hash=f"{rate}", **changes
    )


@pytest.fixture
def outputs(tmp_path):
    """upm: a search on fold 0, where the rate that is best on test rows is not the one that held-out bags prefer."""
    write(tmp_path, 1e-4, auc=0.70, held_out=0.60, method="upm")
    write(tmp_path, 1e-3, auc=0.66, held_out=0.55, method="upm", fold=0)
    write(tmp_path, 1e-3, auc=0.65, held_out=0.90, method="upm", fold=1)  # no other rate has this fold
    write(tmp_path, 1e-4, auc=0.60, held_out=0.50, method="dllp_bce")
    write(tmp_path, 1e-3, auc=0.64, held_out=0.58, method="dllp_bce")
    write(tmp_path, 1e-4, auc=0.61, held_out=None, method="dllp_mse", protocol="paper")
    write(tmp_path, 1e-3, auc=0.67, held_out=None, method="dllp_mse", protocol="paper")
    return tmp_path


def test_rate_of_the_least_held_out_loss_stays(outputs):
    kept, chosen = at_held_out_rates(collect(outputs))
    runs = kept.runs.select("method", "fold", "best").sort("method", "fold", "best").rows()
    of_paper = [("dllp_mse", 0, 0.61), ("dllp_mse", 0, 0.67)]  # nothing was held out: both stay
    assert runs == [("dllp_bce", 0, 0.60), *of_paper, ("upm", 0, 0.66), ("upm", 1, 0.65)]
    assert {(one.method, one.rate, one.held_out, one.n_runs) for one in chosen} == {
        ("upm", "0.001", 0.55, 1), ("dllp_bce", "0.0001", 0.50, 1),
    }  # fmt: skip


def test_more_folds_are_averaged(tmp_path):
    for fold, losses in enumerate(((0.5, 0.6), (0.9, 0.6))):
        for rate, loss in zip((1e-4, 1e-3), losses, strict=True):
            write(tmp_path, rate, 0.6, loss, fold=fold)
    _, [chosen] = at_held_out_rates(collect(tmp_path))
    assert (chosen.rate, chosen.held_out, chosen.n_runs) == ("0.001", 0.6, 2)


def test_rate_that_has_no_fold_in_common_is_named_and_cancels_no_choice(tmp_path):
    write(tmp_path, 1e-4, auc=0.70, held_out=0.60)
    write(tmp_path, 1e-3, auc=0.66, held_out=0.55)
    write(tmp_path, 2e-2, auc=0.65, held_out=0.40, fold=1)
    kept, [chosen] = at_held_out_rates(collect(tmp_path))
    assert (chosen.rate, chosen.n_runs, chosen.beside) == ("0.001", 1, ("0.02",))
    assert kept.runs.select("best").sort("best").rows() == [(0.65,), (0.66,)]
    assert str(chosen).endswith("(0.55 over 1 run; no fold in common: 0.02)")


def test_method_that_trains_nothing_stays_once(tmp_path):
    for rate, folds in ((1e-4, 1), (1e-3, 2)):
        for fold in range(folds):
            write(tmp_path, rate, 0.61, None, method="group_prior", fold=fold, best_epoch=-1)
    kept, chosen = at_held_out_rates(collect(tmp_path))
    assert len(kept.runs) == 2
    assert kept.runs["config"].n_unique() == 1
    assert chosen == []


def test_methods_of_other_rates_share_a_row(outputs):
    kept, _ = at_held_out_rates(collect(outputs))
    runs = name_variants(kept).filter(protocol="holdout")
    assert runs.select("row", "column").unique().sort("column").rows() == [
        ("random_64", "dllp_bce"), ("random_64", "upm"),
    ]  # fmt: skip


def test_report_shows_the_chosen_rates_runs_alone(outputs, capsys):
    report(outputs, learning_rate="held_out", figures=[], tables=["scores"])
    printed = capsys.readouterr().out
    assert "learning rate 0.001, of 2, by the held-out loss: upm on flights, random_64 (0.55 over 1 run)" in printed
    assert "0.70" not in printed
    report(outputs, learning_rate="held_out", method=["dllp_mse"], figures=[], tables=["scores"])
    assert "learning rates: none to choose among" in capsys.readouterr().out


def test_of_rates_that_are_equally_good_the_least_stays(tmp_path):
    """As a number: by their texts 0.001 comes first."""
    for method, best_epoch, held_out in (("upm", 1, 0.5), ("group_prior", -1, None)):
        for rate in (1e-3, 1e-5, 1e-2):
            write(tmp_path, rate, 0.6, held_out, method=method, best_epoch=best_epoch)
    kept, [chosen] = at_held_out_rates(collect(tmp_path))
    assert chosen.rate == "1e-05"
    assert {kept.configs[number]["optimizer.lr"] for number in kept.runs["config"]} == {"1e-05"}
    assert sorted(kept.runs["method"]) == ["group_prior", "upm"]


def test_of_folds_that_equally_many_rates_share_the_first_compares(tmp_path):
    for rate, folds in ((1e-4, (0,)), (1e-3, (0, 1)), (1e-2, (1,))):
        for fold in folds:
            write(tmp_path, rate, 0.6, {1e-4: 0.5, 1e-3: 0.4, 1e-2: 0.1}[rate], fold=fold)
    _, [chosen] = at_held_out_rates(collect(tmp_path))
    assert (chosen.rate, chosen.n_rates, chosen.beside) == ("0.001", 2, ("0.01",))
