"""What a fit says of each query of a report: is it met, and what does it carry."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from llp.data.bags import Bags
from llp.data.cells import Cells
from llp.reports.families import LOGISTIC
from llp.reports.glm import CellFit, Design
from llp.reports.passes import Vector


class QueryAccount(TypedDict):
    """A query as it stands in a run's record."""

    columns: list[str]
    cells: int
    published: float  # share of the rows that are in one of them
    noise_sd: float  # of a cell, root mean square
    penalty: float  # median λ of a cell
    coverage: float | None  # share of cells whose stated sum is within 95 % of the predicted one; of labels 0 and 1
    carries: float  # loss of an instance that the fit gains by the weights of this query


def by_query(
    design: Design, cells: Cells, fitted: CellFit, sums: Vector, penalty: Vector, bags: Bags, names: Sequence[str]
) -> list[QueryAccount]:
    """Account for each query of a report whose cells are the bags; `sums` and `penalty` (P + 2,) are the fit's.

    A stated sum differs from the predicted by its own noise and by the labels' scatter. What a query carries is A(θ) −
    c'θ over N, with its weights set to 0 and all others as they are, less that of the fit: 0 where it adds nothing.
    """
    mean = design.family.mean(fitted.scores)
    predicted = design.passes.sums(design.weight * mean)[1:-1]
    variance = np.zeros(len(cells)) if bags.noise_variance is None else bags.noise_variance
    spread = np.sqrt(variance + design.passes.sums(design.weight * design.family.variance(mean))[1:-1])
    within = np.abs(bags.label_sum - predicted) <= 1.96 * spread + 1e-9 * np.abs(predicted)
    accounts: list[QueryAccount] = []
    for q, query in enumerate(cells.queries):
        own = np.flatnonzero(cells.query_of == q)
        ids, theta = design.passes.cells[:, q], np.zeros_like(fitted.theta)
        theta[own + 1] = fitted.theta[own + 1]
        without = design.partition(fitted.scores - theta[ids])
        some = len(own) > 0
        accounts.append(
            {
                "columns": [names[column] for column in query],
                "cells": len(own),
                "published": float((ids <= len(cells)).mean()),
                "noise_sd": float(np.sqrt(variance[own].mean())) if some else 0.0,
                "penalty": float(np.median(penalty[own + 1])) if some else 0.0,
                "coverage": float(within[own].mean()) if some and design.family is LOGISTIC else None,
                "carries": float(without - fitted.partition + sums @ theta) / design.total,
            }
        )
    return accounts
