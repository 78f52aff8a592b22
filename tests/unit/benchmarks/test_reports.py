"""The benchmark of fits on reports, small."""

from benchmarks.reports import measure


def test_measures_a_fit_and_a_choice():
    found = measure(3000, 3, chosen=True, strength=10.0)
    assert found.keys() == {"cells", "fit", "speed_up", "choice", "GiB"}
    assert all(value > 0 for value in found.values())
