"""Time fits on the cells of made reports: a fit, the choice of the penalty, two threads, twice and four times the rows.

`python -m benchmarks.reports [rows] [columns]`: another size alone, with a fit at λ = 300 and no choice.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import expit

from benchmarks.measuring import Measured, in_fresh_process, peak_anonymous, show_measured
from llp.data.cells import find_cells, order_of
from llp.reports.consistency import consistency
from llp.reports.families import LOGISTIC
from llp.reports.glm import Design, fit
from llp.reports.margins import Margins
from llp.reports.passes import Passes
from llp.reports.penalty import Groups, SumNoise, choose_grouping, draw_probes, rule_of_thumb

ROWS, COLUMNS = 262_000, 6
SIZES = (13, 32, 20, 17, 4, 102)  # those of flights; in turn where there are more columns


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Processor and wall-clock seconds."""
    begin = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - begin[0], time.perf_counter() - begin[1]


def measure(rows: int, columns: int, *, chosen: bool, strength: float) -> dict[str, float]:
    """Seconds of fits on singles and pairs with Laplace noise at ε = 1, on one and two threads, and GiB at the peak."""
    rng = np.random.default_rng(0)
    sizes = [SIZES[i % len(SIZES)] for i in range(columns)]
    codes = np.stack([np.minimum(rng.exponential(size / 4, rows), size - 1) for size in sizes], 1).astype(np.int32)
    scores = sum(rng.normal(0, 0.4, size)[codes[:, i]] for i, size in enumerate(sizes)) - 1.2
    queries = [query for order in (1, 2) for query in combinations(range(columns), order)]
    with peak_anonymous() as peak:
        cells = find_cells(codes, sizes, queries, 11)
        ids, weight = cells.of_rows(codes), np.ones(rows)
        one, two = (Passes(ids, len(cells), threads) for threads in (1, 2))
        variance = np.full(len(cells) + 2, 2.0 * len(queries) ** 2)
        variance[[0, -1]] = 0
        consistent = consistency(one, cells, codes, variance)
        noise = rng.laplace(0, len(queries), len(variance)) * (variance > 0)
        sums = consistent(one.sums((rng.random(rows) < expit(scores)).astype(float)) + noise)
        p = sums[0] / rows
        ratio = variance / np.maximum(one.sums(weight) * p * (1 - p), 1e-9)
        margins = Margins(cells, codes, weight)
        designs = [Design(passes, LOGISTIC, weight, np.zeros(rows), margins) for passes in (one, two)]
        penalty = rule_of_thumb(ratio) * strength / 10
        fit(designs[1], sums, penalty, 1.0)  # compiled, and its threads started
        (cpu, alone), (_, both) = (timed(partial(fit, design, sums, penalty, 1e-3)) for design in designs)
        found = {"cells": float(len(cells)), "fit": cpu, "speed_up": alone / both}
        if chosen:
            law = SumNoise(ratio, lambda rng: consistent(np.sqrt(variance) * rng.standard_normal(len(variance))))
            edge = np.array([-1])
            order = Groups("order", np.concatenate([edge, order_of(cells) - 1, edge]), 4)
            query = Groups("query", np.concatenate([edge, cells.query_of, edge]), 2)
            probes = draw_probes(designs[0], law, 4, rng)
            found["choice"] = timed(lambda: choose_grouping(designs[0], sums, law, (order, query), probes, rng))[0]
    return found | {"GiB": peak[0] / 2**30}


def main() -> None:
    """Print the table and write it to `outputs/bench/reports.json`."""
    given = [int(one) for one in sys.argv[1:]]
    runs = [(*given,)] if given else [(ROWS, COLUMNS), (2 * ROWS, COLUMNS), (4 * ROWS, COLUMNS)]
    lines = []
    for rows, columns in runs:
        chosen = not given and rows == ROWS
        found = in_fresh_process(_measure, rows, columns, chosen, 300.0 if given else 10.0)
        what = f"{rows:,} rows × {columns * (columns + 1) // 2} queries"
        lines += [Measured(f"{what}: {name}", value, "") for name, value in found.items()]
    show_measured(lines, Path("outputs/bench/reports.json"))


def _measure(rows: int, columns: int, chosen: bool, strength: float) -> dict[str, float]:
    return measure(rows, columns, chosen=chosen, strength=strength)


if __name__ == "__main__":
    main()
