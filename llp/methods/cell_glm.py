"""The generalised linear model on cells, fitted to all sums at once by Newton's method: see `llp.reports`."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor

from llp.data.cells import Cells, find_cells, queries_of
from llp.data.label_unit import LabelUnit
from llp.data.train_split import TrainSplit
from llp.errors import InputError, invalid
from llp.machine import free_memory
from llp.methods.base import LLPMethod
from llp.models.cell_weights import CellWeights
from llp.reports.account import by_query
from llp.reports.families import GAUSSIAN, LOGISTIC, POISSON
from llp.reports.glm import fit
from llp.reports.passes import Vector
from llp.reports.penalty import choose, choose_grouping, draw_probes, groups_of, rule_of_thumb
from llp.reports.problem import DROPPED, LEAST_ROWS, Problem, problem_of
from llp.reports.sample import strengthen
from llp.seeding import keyed_seed

log = logging.getLogger(__name__)


STEEPNESS = 1e-3
"""Of the final fit."""
MOSTLY = 0.5
"""Share of the labelled rows' cells that may be left out without a word."""
ROUNDING = 1e-6
"""Of exposures, relative to their mean and deviation: standardised numbers are float32."""


class CellGLM(LLPMethod):
    """A weight for each cell of all queries, fitted to the cells' label sums; options: `conf/method/cell_glm.yaml`."""

    trains: ClassVar[bool] = False
    solves: ClassVar[bool] = True
    labels_as_given: ClassVar[bool] = True

    def __init__(
        self,
        *,
        columns: list[str] | None,
        queries: Literal["singles", "pairs"]
        | list[Literal["singles", "pairs"] | Annotated[list[str], Field(min_length=1)]],
        least_count: PositiveInt,
        penalty: Literal["auto", "order", "query", "rule"] | PositiveFloat,
        family: Literal["auto", "poisson"] = "auto",  # as in runs of before there was another
        exposure: str | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.columns, self.queries, self.least_count, self.penalty = columns, queries, least_count, penalty
        self.family = LOGISTIC if self.label_kind == "binary" else POISSON if family == "poisson" else GAUSSIAN
        if family == "poisson" and self.family is not POISSON:
            raise invalid("method.family", family, "auto for labels 0 and 1; label_kind=real makes them counts", "auto")
        if exposure is not None and self.family is not POISSON:
            raise invalid("method.exposure", exposure, "null, or method.family=poisson beside it", None)
        self.exposure = exposure

    def check_columns(self, names: list[str]) -> None:
        """See `LLPMethod.check_columns`."""
        if unknown := [name for name in self.columns or [] if name not in names]:
            raise invalid("method.columns", unknown, f"some of {', '.join(names)}", names[:2])
        queries_of(names, self.columns or names, self.queries, "method.queries")

    def take_train_split(self, split: TrainSplit) -> None:
        """Fit the weights to the train bags' sums."""
        super().take_train_split(split)
        cells = self._cells(split)
        exposure = self._exposure(split, cells)
        threads = torch.get_num_threads()
        problem = problem_of(split, cells, family=self.family, threads=threads, exposure=exposure)
        if split.labelled is not None:
            self.facts["labelled"] = len(split.labelled.rows)
        if problem.halves:
            self.facts["sample"] = len(split.bags.instances)
            self.facts["report_rows"] = problem.halves[0].design.total
            self.facts["cells_of_few_rows"] = int((problem.noise.ratio >= DROPPED).sum())
            if split.labelled is not None:
                self._tell_unheard(problem, len(split.labelled.rows))
        if split.bags.noise_variance is not None and split.bags.noise_variance.any():  # stated or added
            self.facts["noise_sd"] = float(np.sqrt(split.bags.noise_variance.mean()))
        mean = problem.sums[0] / problem.design.total
        if problem.design.family.within(mean) != mean:
            log.warning("the sums give a mean label of %.3g, which no labels have: the nearest is fitted", mean)
        penalty, start = self._penalty(problem, cells, split)
        scale = LabelUnit.of(split.bags).scale if self.family is GAUSSIAN else 1.0  # sums are in the labels' unit
        found = fit(problem.design, problem.sums, penalty, STEEPNESS * scale, start)
        self.facts |= {"cells": len(cells), "steps": found.steps, "steepness": found.steepness / scale}
        if found.steepness > STEEPNESS * scale:
            log.warning("the fit ended at a steepness of %.1e, not at %.0e", found.steepness / scale, STEEPNESS)
        log.info("%s", ", ".join(f"{name} {value}" for name, value in self.facts.items() if name != "queries"))
        if split.bags.cells is cells and split.labelled is None:
            names = split.features.categorical_names
            self.facts["by_query"] = by_query(problem.design, cells, found, problem.sums, penalty, split.bags, names)
        assert isinstance(self.model, CellWeights)
        self.model.take(cells, torch.from_numpy(found.theta[:-1]), None if exposure is None else torch.tensor(exposure))

    def score(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """See `LLPMethod.score`; InputError where a row's exposure is below 0."""
        assert isinstance(self.model, CellWeights)
        if self.exposure is not None and len(numeric):
            least = float(self.model.exposed(numeric).min())
            if least < -ROUNDING * float(self.model.exposure.abs().sum()):
                raise InputError(
                    f"a row has the exposure {least:.3g}: expected numbers >= 0 in the column {self.exposure!r}"
                )
        return super().score(categorical, numeric)

    def _tell_unheard(self, problem: Problem, labelled: int) -> None:
        """Say how much of the last rows, whose labels are known, is in cells that the sample leaves out."""
        ids = problem.design.passes.cells[-labelled:]
        published = ids <= problem.design.passes.n_cells
        share = float((problem.noise.ratio[ids] >= DROPPED).sum() / max(published.sum(), 1))
        self.facts["labelled_left_out"] = share
        if share > MOSTLY:
            log.warning(
                "%.0f %% of the cells of the %d labelled rows have fewer than %d of the sample's %d rows and are left "
                "out, their labels with them: give more rows without labels (the labelled ones too, if drawn alike)",
                100 * share, labelled, LEAST_ROWS, self.facts["sample"],
            )  # fmt: skip

    def _exposure(self, split: TrainSplit, cells: Cells) -> Vector | None:
        """Of counts: what gives a row's exposure of its numeric columns and 1, (Fn + 1,)."""
        if self.family is not POISSON:
            return None
        bags, features = split.bags, split.features
        found = np.append(np.zeros(features.n_numeric), 1.0)
        if (bags.noise_variance is None or not bags.noise_variance.any()) and (bags.label_sum < 0).any():
            raise invalid(
                "method.family", "poisson", "auto, as a sum of labels is below 0, which counts are not", "auto"
            )
        if split.labelled is not None and (split.labelled.labels < 0).any():
            expected = "auto, as a label of the labelled rows is below 0, which counts are not"
            raise invalid("method.family", "poisson", expected, "auto")
        if self.exposure is None:
            return found
        if self.exposure not in features.standardised:
            expected = (
                f"a numeric column that is standardised: {', '.join(features.standardised) or 'the table has none'}"
            )
            raise invalid("method.exposure", self.exposure, expected, next(iter(features.standardised), None))
        if bags.cells is not cells:
            expected = "null, as sums over cells are estimated of these bags, by rows alike; or a report"
            raise invalid("method.exposure", self.exposure, expected, None)
        position, mean, std = features.standardised[self.exposure]
        found[[position, -1]] = std, mean
        rows = bags.instances if split.labelled is None else np.concatenate([bags.instances, split.labelled.rows])
        rounding = ROUNDING * (abs(mean) + std)
        if (least := float((features.numeric[rows, position] * std + mean).min())) <= rounding:
            raise invalid("method.exposure", self.exposure, f"a column of numbers > 0; its least is {least:.3g}", None)
        return found

    def _cells(self, split: TrainSplit) -> Cells:
        features = split.features
        names, rows = features.categorical_names, split.bags.instances
        cells = split.bags.cells
        queries = queries_of(names, self.columns or names, self.queries) if cells is None else cells.queries
        self.facts["queries"] = ["_".join(names[column] for column in query) for query in queries]
        if cells is None and not any(queries):
            raise InputError(
                "Invalid method=cell_glm: it has a weight for each cell of categorical columns, of which none is here; "
                "expected some, such as the bins of numeric_as=both, and queries such as method.queries=singles"
            )
        need = 12 * len(rows) * len(queries)  # ids, and codes while they are sought
        if need > free_memory():
            raise InputError(
                f"Invalid method.queries={self.queries}: {len(queries)} queries of {len(rows)} rows take "
                f"{need / 2**30:.1f} GiB; expected fewer, such as method.queries=singles"
            )
        if cells is None:
            cells = find_cells(features.categorical[rows], features.vocab_sizes, queries, self.least_count)
        return cells

    def _penalty(self, problem: Problem, cells: Cells, split: TrainSplit) -> tuple[Vector, Vector | None]:
        """λ of each cell, and where the fit starts."""
        ratio = problem.noise.ratio
        by_order, by_query = groups_of(cells)
        rng = np.random.default_rng(keyed_seed(self.seed, "probes of the penalty"))
        asked = "rule" if self.family is GAUSSIAN and isinstance(self.penalty, str) else self.penalty
        if asked != self.penalty:
            log.info("the penalty of real labels is the rule of thumb: their variance within cells is not in the sums")
        self.facts["penalty"] = asked
        if not isinstance(asked, str):
            return rule_of_thumb(ratio) * asked / 10, None
        if asked == "rule":
            return self._strengthened(problem, rule_of_thumb), None
        probes = draw_probes(problem.design, problem.noise, by_order.probes, rng)
        if asked == "auto":
            chosen = choose_grouping(problem.design, problem.sums, problem.noise, (by_order, by_query), probes, rng)
        else:
            groups = by_order if asked == "order" else by_query
            chosen = choose(problem.design, problem.sums, problem.noise, groups, probes)
        self.facts["penalty"] = chosen.groups.name
        self.facts["strengths"] = chosen.strengths.round(3).tolist()
        self.facts["criterion"] = chosen.criterion
        return self._strengthened(problem, partial(chosen.groups.spread, chosen.strengths)), chosen.fit.theta

    def _strengthened(self, problem: Problem, penalty: Callable[[Vector], Vector]) -> Vector:
        """λ of the cells by their noise, more where the rows are a sample."""
        if not problem.halves:
            return penalty(problem.noise.ratio)
        factor = strengthen(problem.halves, penalty, keyed_seed(self.seed, "factor of the penalty"))
        self.facts["factor"] = factor
        return factor * penalty(problem.noise.ratio)
