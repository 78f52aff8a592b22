"""The study of rates, beside what its page shows of committed records."""

from benchmarks.result_rates import fixed_rates
from tests.helpers.records import record


def test_rates_are_compared_on_the_folds_that_all_have():
    first = [
        record("auc", 0.5, held_out=loss, dataset="a", method="upm", config={"optimizer": {"lr": rate}})
        for rate, loss in ((1e-4, 0.1), (1e-3, 0.2), (1e-2, 0.3))
    ]
    more = first[0].model_copy(update={"fold": 1, "metric": first[0].metric.model_copy(update={"held_out": 9.0})})
    assert fixed_rates([*first, more]) == {"upm": 1e-4}
