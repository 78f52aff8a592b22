"""A run that is cut off and goes on ends as one that was not, to the last bit, whenever its checkpoints are written."""

import itertools
import random

import pytest

from tests.helpers.commands import FEW
from tests.helpers.composed import run_one
from tests.helpers.cutting import CutOffError, checkpoints_at_random_epochs, contents, moments, untimed_record
from tests.helpers.every_method import TRAINED, composed

# a vocabulary of which a minibatch touches a part, so that rows lag behind; most runs stop early within some epochs
SMALL = (
    "dataset.vocab_fraction=1e-3",
    "dataset.rows=1000",
    "trainer.bags_per_batch=4",
    "trainer.instances_per_batch=256",
    "trainer.patience=2",
    "optimizer.lr=0.02",
)
# protocol, worker processes, where the table lives, how often a checkpoint is written
WAYS = list(itertools.product(("paper", "holdout", "refit"), (0, 2), ("host", "device"), ("always", "sometimes")))
ALONE = [way for way in WAYS if way[1] == 0]


def overrides(name, protocol, workers, place, checkpoints):
    dataset = [] if "binary" in composed(name).method.labels else ["dataset=synthetic_sscl"]
    protocols = ["protocol=holdout", "protocol.refit=true"] if protocol == "refit" else [f"protocol={protocol}"]
    of_cells = "queries" in composed(name).method.get("first_stage", {})  # by themselves hundreds, which take long
    few = [FEW.replace("method.", "method.first_stage.")] if of_cells else []
    epochs = 20 if name.startswith("dllp") else 5  # in which the others need not stop early
    return [
        *dataset, *SMALL, f"method={name}", *few, f"trainer.max_epochs={epochs}", *protocols,
        f"num_workers={workers}",
        f"hardware.features_on={place}", f"checkpoint_minutes={0 if checkpoints == 'always' else 1}",
    ]  # fmt: skip


def check_cuts(tiny, tmp_path, name, way, draw, n_cuts):
    """Train without a cut and without checkpoints; then cut at random moments, after an epoch or within one.

    Returns whether the whole run stopped early.
    """
    chosen = overrides(name, *way)
    with moments() as seen:
        outputs = tmp_path / "whole"
        whole = untimed_record(run_one(tiny(*chosen, "checkpoint_minutes=60", f"outputs_dir={outputs}")).model_dump())
    expected = contents(outputs)
    for number in range(n_cuts):
        kind = draw.choice(["epoch", "minibatch"])
        moment = draw.choice([i for i, what in enumerate(seen) if what == kind])
        place = tmp_path / f"cut {number}"
        cut = tiny(*chosen, f"outputs_dir={place}")
        with checkpoints_at_random_epochs(draw.random()):
            with moments(cut=moment), pytest.raises(CutOffError):
                run_one(cut)
            assert untimed_record(run_one(cut).model_dump()) == whole
        assert contents(place) == expected
    return whole["epochs"][-1][2]


@pytest.mark.parametrize("name", TRAINED)
def test_run_that_was_cut_off_ends_as_one_that_was_not(tiny, tmp_path, name):
    draw = random.Random(name)
    stopped_early = check_cuts(tiny, tmp_path, name, draw.choice(ALONE), draw, 1)
    assert stopped_early or not name.startswith("dllp"), "nothing told its patience"  # other methods may learn longer


def test_run_whose_worker_gathers_ends_as_one_that_was_not_cut_off(tiny, tmp_path):
    check_cuts(tiny, tmp_path, "dllp_bce", ("paper", 1, "host", "always"), random.Random(0), 1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TRAINED)
def test_run_that_was_cut_off_many_ways_ends_as_one_that_was_not(tiny, tmp_path, name):
    draw = random.Random(f"{name}, many ways")
    for number, way in enumerate(draw.sample(WAYS, 6)):
        check_cuts(tiny, tmp_path / str(number), name, way, draw, 3)
