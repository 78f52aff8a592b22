"""No method is another one in disguise, but for those that say why."""

import numpy as np
import pytest

from benchmarks.gradients import MARKERS, REFERENCES, learning_from_bags, markdown, measure, replace_table
from llp.config.composition import register

register()
pytestmark = pytest.mark.run

# name of a method -> why its gradient may lie along dllp_bce's or dllp_mse's (cosine above 0.999) once training goes on
NEAR_COPIES = {
    "dllp_bce": "is a reference",
    "dllp_mse": "is a reference; where proportions are far from 0 and 1 the two losses pull alike",
    "count": "a sum of many independent labels is close to normal around k h̄: its likelihood is a loss of h̄ alone",
    "llp_dc": "no instance of a noisy label is as sure of its pseudo-label as the default threshold asks",
    "llp_mm": "the number of positives in a random subset says of a large bag little beside h̄",
}

SIZES = (16, 64)


@pytest.fixture(scope="module")
def cosines():
    return measure(learning_from_bags(), SIZES, rows=6400, half_way=200, n_minibatches=2)


def test_near_copies_of_a_bag_loss_are_those_that_say_why(cosines):
    near = {name for (name, _, trained, _), value in cosines.items() if trained and value > 0.999}
    assert near <= set(NEAR_COPIES)


def test_dsq_with_the_published_decay_is_a_copy_of_dllp_mse():
    found = measure(["dsq"], (64,), rows=3200, half_way=20, n_minibatches=2, overrides=("method.decay=0.99",))
    assert all(value > 0.999 for (*_, reference), value in found.items() if reference == "dllp_mse")


def test_every_method_has_a_gradient_on_both_networks(cosines):
    assert {name for name, *_ in cosines} >= {"dllp_mae", "upm", "mean_map", "sim_llp", "ot_llp"}
    assert all(np.isfinite(value) for value in cosines.values())
    for reference in REFERENCES:
        assert [cosines[reference, size, True, reference] for size in SIZES] == pytest.approx([1] * len(SIZES))


def test_the_table_replaces_the_one_before(tmp_path, cosines):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARKERS[0]}\nold\n{MARKERS[1]}\nafter\n")
    for _ in range(2):
        replace_table(page, markdown(cosines))
        text = page.read_text()
    assert text.startswith(f"before\n{MARKERS[0]}\n| method |")
    assert text.endswith(f"|\n{MARKERS[1]}\nafter\n")
    assert "old" not in text
