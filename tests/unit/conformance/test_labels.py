"""No method but the baselines that say so sees an instance's label: one joins by having a YAML file."""

import pytest

from llp.conformance.case import Case, NotKeptError
from llp.conformance.of_trainings import labels
from tests.helpers.composed import checked, open_table
from tests.helpers.every_method import TRAINED, class_of, composed

pytestmark = pytest.mark.run


@pytest.mark.parametrize("name", TRAINED)
def test_no_instance_label_reaches_a_method(tiny, tmp_path, name):
    """Labels shuffled inside the train bags leave the bags' sums, and so the weights, as they are; not a baseline's."""
    dataset = [] if "binary" in composed(name).method.labels else ["dataset=synthetic_sscl"]
    few = ["method.first_stage.queries=[[C8],[C16]]"] if name == "distilled" else []
    config = tiny(*dataset, *few, f"method={name}", "trainer.max_epochs=2", "protocol=holdout")
    case, method = Case(checked(config), open_table(config), tmp_path), class_of(name)
    if method.sees_instance_labels and not method.own_labels:
        with pytest.raises(NotKeptError, match=r"labels shuffled inside the train bags: .* differs"):
            labels(case)
    else:
        assert "to the bit" in labels(case)
