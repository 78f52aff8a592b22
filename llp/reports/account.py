"""What a fit says of each query of a report: is it met, and what does it carry."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from llp.data.bags import Bags
from llp.data.cells import Cells
from llp.data.keys.report import ReportKey
from llp.data.table import InstanceTable
from llp.data.train_split import Features, TrainSplit
from llp.reports.families import LOGISTIC
from llp.reports.glm import CellFit, Design
from llp.reports.passes import Vector
from llp.reports.penalty import choose, criterion, draw_probes, groups_of
from llp.reports.problem import DROPPED, LEAST_ROWS, of_sampling, problem_of


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

    What a query carries is A(θ) − c'θ over N without its weights less that of the fit: 0 where it adds nothing.
    """
    mean = design.family.mean(fitted.scores)
    predicted = design.passes.sums(design.weight * mean)[1:-1]
    variance = np.zeros(len(cells)) if bags.noise_variance is None else bags.noise_variance
    scaled = design.passes.sums(design.weight)[1:-1] / bags.summed  # to the rows of a sample; else 1
    scatter = scaled * design.passes.sums(design.weight * design.family.variance(mean))[1:-1]
    spread = np.sqrt(scaled**2 * variance + scatter + of_sampling(design, fitted.scores)[0][1:-1])
    within = np.abs(scaled * bags.label_sum - predicted) <= 1.96 * spread + 1e-9 * np.abs(predicted)
    told = (bags.sizes >= LEAST_ROWS) | (bags.counts is None)  # by a sample's rows
    accounts: list[QueryAccount] = []
    for q, query in enumerate(cells.queries):
        own = np.flatnonzero(cells.query_of == q)
        ids, theta = design.passes.cells[:, q], np.zeros_like(fitted.theta)
        theta[own + 1] = fitted.theta[own + 1]
        without = design.partition(fitted.scores - theta[ids])
        some, shown = len(own) > 0, within[own][told[own]]
        accounts.append(
            {
                "columns": [names[column] for column in query],
                "cells": len(own),
                "published": float((ids <= len(cells)).mean()),
                "noise_sd": float(np.sqrt(variance[own].mean())) if some else 0.0,
                "penalty": float(np.median(penalty[own + 1])) if some else 0.0,
                "coverage": float(shown.mean()) if len(shown) and design.family is LOGISTIC else None,
                "carries": float(without - fitted.partition + sums @ theta) / design.total,
            }
        )
    return accounts


def drops(table: InstanceTable, key: ReportKey, threads: int) -> list[dict[str, str | float]]:
    """By how much T falls short without each query of a table's exact report, the largest first.

    T is the estimated log loss of fresh labels (`llp.reports.penalty`). The λ are those of all queries, one per number
    of columns; the others' weights are fitted again, so that a query whose sums others hold carries nothing.
    """
    bags = key.all_bags(table)
    cells, names = bags.cells, table.categorical_names
    assert cells is not None
    problem = problem_of(TrainSplit(Features.of(table), bags, key, 1), cells, family=LOGISTIC, threads=threads)
    design, sums, by_order = problem.design, problem.sums, groups_of(cells)[0]
    probes = draw_probes(design, problem.noise, by_order.probes, np.random.default_rng(0))
    chosen = choose(design, sums, problem.noise, by_order, probes)
    penalty = by_order.spread(chosen.strengths, problem.noise.ratio)
    found: list[dict[str, str | float]] = []
    for q, query in enumerate(cells.queries):
        own = np.flatnonzero(cells.query_of == q) + 1
        without = penalty.copy()
        without[own] = DROPPED
        loss, *_ = criterion(design, sums, without, probes, chosen.fit.theta)
        published = float((design.passes.cells[:, q] <= len(cells)).mean())
        found.append(
            {
                "query": "_".join(names[column] for column in query),
                "cells": len(own),
                "published": published,
                "drop": loss - chosen.criterion,
            }
        )
    return sorted(found, key=lambda one: -float(one["drop"]))
