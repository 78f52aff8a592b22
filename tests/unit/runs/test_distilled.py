"""Runs of distilled: a network on the soft labels of a finished cell_glm."""

import pytest

from tests.helpers.commands import FEW, REPORT, SIGNAL
from tests.helpers.composed import run_one

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
