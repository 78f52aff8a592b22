"""Quality of the epochs picked without test labels: by each criterion that `protocol.select_by` may name."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from llp.results.formats import BAG_KINDS, columns_of, heading
from llp.results.table import MISSING, Cell, Table

CRITERIA = {"bag_loss": "held_out_loss"} | {name: f"held_out_{name}" for name in ("upm", "debiased", "easy_llp")}
"""Values of `protocol.select_by` and their columns in a run's curve: the least value picks."""

OWN = "the run's own"
"""Column of what picked the run's epoch: of protocol.select_by=auto the one that it takes."""

EARLY = "best at the first evaluation"
"""Column of the runs whose best test AUC is that of the first evaluation."""

NEAR = 0.005
"""So far below the best AUC of the curve an epoch is a good pick."""


CurveColumns = Mapping[str, Sequence[float]]
"""Columns of a run's curve, a value per evaluation."""


def lost(curve: CurveColumns, criterion: str) -> float | None:
    """Test AUC that a criterion's pick loses to the best of a curve; None where the curve does not have both.

    >>> lost({"test_auc": [0.5, 0.75, 0.625], "held_out_upm": [3.0, 2.0, 1.0]}, "upm")
    0.125
    """
    auc, values = curve.get("test_auc", []), curve.get(CRITERIA[criterion], [])
    pairs = zip(values, auc, strict=False)
    both = [(value, area) for value, area in pairs if math.isfinite(value) and math.isfinite(area)]
    if not both:
        return None
    best = max(area for _, area in both)
    return best - min(both, key=lambda pair: pair[0])[1]  # of equal values the first, as a run picks


def selection(cells: pl.DataFrame, runs: pl.DataFrame, curve_of: Callable[[str], CurveColumns]) -> Table | None:
    """Count how often each criterion picks an epoch with nearly the best test AUC, per method over all its runs.

    Beside it, how often that is the first evaluation's. None where no curve has both (`protocol.test_in_curve=true`);
    `curve_of` gives that of a run's folder.
    """
    losses: dict[tuple[str, str], list[float]] = defaultdict(list)
    for method, kind, folder, picked_by in runs.select("column", "bag_kind", "folder", "picked_by").iter_rows():
        curve = curve_of(folder)
        found = {criterion: loss for criterion in CRITERIA if (loss := lost(curve, criterion)) is not None}
        whole = len(found) == len(CRITERIA)
        own = [name for name, column in CRITERIA.items() if column == picked_by]
        if own and own[0] in found:
            found[OWN] = found[own[0]]
        if found:
            found[EARLY] = max(filter(math.isfinite, curve["test_auc"])) - curve["test_auc"][0]
        for criterion, loss in found.items():
            losses[method, criterion].append(loss)
            if whole:
                losses[f"all, {BAG_KINDS[kind]}", criterion].append(loss)
    if not losses:
        return None
    names = [*columns_of(cells), *(f"all, {name}" for name in BAG_KINDS.values())]
    criteria = (*CRITERIA, OWN)
    rows = [
        [Cell(name), *(good_picks(losses.get((name, one), [])) for one in criteria), _early(losses[name, EARLY])]
        for name in names
        if (name, EARLY) in losses
    ]
    title = f"{heading(cells)}: picks within {NEAR} of the best AUC of the curve"
    notes = ["Runs whose epoch the criterion picks that well, of all; in brackets the mean AUC that its pick loses."]
    return Table(title, ["method", *criteria, EARLY], rows, notes)


def good_picks(losses: Sequence[float]) -> Cell:
    """Number of good picks, and in brackets the mean AUC that the picks lose."""
    if not losses:
        return Cell(MISSING)
    good = sum(loss <= NEAR for loss in losses)
    return Cell(f"{good} of {len(losses)} ({sum(losses) / len(losses):.4f})", value=good / len(losses))


def _early(losses: Sequence[float]) -> Cell:
    return Cell(f"{losses.count(0)} of {len(losses)}")
