"""The result tables of the pages, made from run records that are committed beside them.

`python -m benchmarks.results` writes the tables of `docs/*.md` again, each between `<!-- KIND: NAME -->` and
`<!-- end -->`, where the kind is

- `table`: the methods on each bag dataset; `tests`: the best of them against the others;
- `means`: the methods beside each other over all bag datasets;
- `board`: the methods by mean rank, with what tests tell apart; `measures`: all six measures of each;
- `regrets`: what one learning rate for every method loses, in a study of rates;
- `selection`: how well each held-out criterion picks the epoch;
- `keys`, `epochs`: by the kind of bags, of two with a test of their difference; by what picked the epoch;
- `noise`, `study`: by the ε of noise on the sums; by the bags' number and size;
- `reports`: of several tables what reports give, beside all labels.

NAME stands for all bag datasets kept under it, NAME.DATASET_KEY for one. Words behind it keep those of a kind of bags,
and show a measure in place of the runs' own metric: `<!-- board: board log_loss random -->`.

`python -m benchmarks.results NAME FOLDER` first keeps the records and curves of all finished runs below a folder as
`docs/results/NAME.DATASET_KEY.parquet` (`benchmarks.records`); of the board those of the suite's points, without the
first stages of others.
"""

import re
import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import polars as pl
from omegaconf import OmegaConf

from benchmarks.records import BOARD, DOCS, Kept, files_of, keep, read, read_looks, runs_below
from benchmarks.result_board import board_of, measures_of, narrowed
from benchmarks.result_grids import epochs_of, keys_of, noise_of, reports_of, selected_by, study_of
from benchmarks.result_rates import regrets_of
from benchmarks.result_tables import (
    comparison_of,
    means_of,
    selection_of,
    table_of,
)
from benchmarks.suite import EXPERIMENTS
from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError
from llp.files import folder_name, write_atomically

MADE = {
    "table": table_of,
    "tests": comparison_of,
    "means": means_of,
    "board": board_of,
    "measures": measures_of,
    "regrets": regrets_of,
    "keys": keys_of,
    "epochs": epochs_of,
    "noise": noise_of,
    "study": study_of,
    "reports": reports_of,
}
MADE_OF_CURVES = {"selection": selection_of}
BEGIN, END = re.compile(r"<!-- (?!file:)(\w+): ([\w.]+)((?: \w+)*) -->"), "<!-- end -->"
TABLE = re.compile(rf"(^{BEGIN.pattern}\n).*?(^{END}$)", re.DOTALL | re.MULTILINE)
USAGE = "python -m benchmarks.results, or with records to keep first: python -m benchmarks.results NAME FOLDER"


def with_tables(text: str) -> str:
    """Give a page's text with every table made from its records.

    Raises
    ------
    InputError
        A table has no end, is of no kind that is known, has no records, or mixes runs that do not compare.
    """
    marks = [line for line in text.splitlines() if line == END or BEGIN.fullmatch(line)]
    for mark, following in pairwise([*marks, ""]):
        if mark != END and following != END:
            raise InputError(f"{mark} has no end: expected {END} below its table, on a line of its own")
    return TABLE.sub(lambda found: f"{found[1]}\n{_made(*found.group(2, 3, 4))}{found[5]}", text)


def _made(kind: str, name: str, words: str) -> str:
    mark = f"<!-- {kind}: {name}{words} -->"
    if kind not in {*MADE, *MADE_OF_CURVES}:
        raise InputError(f"{mark}: no kind of table; expected {', '.join([*MADE, *MADE_OF_CURVES])}")
    files = files_of(name)
    if not files:
        raise InputError(f"{mark}: no records of that name; keep some: {USAGE}")
    records = narrowed([record for path in files for record in read(path)], words.split())
    if not records:
        raise InputError(f"{mark}: no record is of{words}; expected a kind of bags or a measure that records have")
    picked = sorted({selected_by(record) for record in records})
    if kind != "epochs" and len(picked) > 1:
        raise InputError(
            f"{mark}: the epochs of its runs were picked by {' and by '.join(picked)}, which do not compare; expected "
            f"runs of one, or <!-- epochs: {name} -->"
        )
    if kind in MADE:
        return MADE[kind](records)
    looks = pl.concat(map(read_looks, files))
    if looks.is_empty():
        raise InputError(f"{mark}: no curves; expected runs with protocol.test_in_curve=true")
    return MADE_OF_CURVES[kind](records, looks)


def main() -> None:
    """Keep records if some are named, and write the tables."""
    given = sys.argv[1:]
    if {"-h", "--help"} & {*given}:
        print(__doc__)
        return
    if len(given) not in (0, 2) or (given and not re.fullmatch(r"\w+", given[0])):
        sys.exit(f"Invalid arguments {' '.join(given)}: expected {USAGE}, where NAME is letters, digits and _")
    try:
        if given:
            keep(_asked(runs_below(Path(given[1])), given[0]), given[0])
        write_pages()
    except InputError as error:
        sys.exit(str(error))


def _asked(runs: Sequence[Kept], name: str) -> list[Kept]:
    """Those of runs that stand under a name: of the board the suite's points."""
    if name != BOARD:
        return [*runs]
    grids = [OmegaConf.load(CONF_DIR / "experiment" / f"{one}.yaml").hydra.sweeper.params for one in EXPERIMENTS]
    points = {point for grid in grids for point in product(grid.bag_dataset.split(","), grid.method.split(","))}
    return [run for run in runs if (folder_name(f"{run[0].dataset}_{run[0].grouping_key}"), run[0].method) in points]


def write_pages() -> None:
    """Write the tables of all pages again.

    Raises
    ------
    InputError
        One cannot be made; no page is written then.
    """
    texts = {page: page.read_text() for page in sorted(DOCS.glob("*.md"))}
    made = {page: with_tables(text) for page, text in texts.items()}
    for page, text in made.items():
        if text != texts[page]:
            print(f"{page}: tables written again")
            write_atomically(page, partial(Path.write_text, data=text))


if __name__ == "__main__":
    main()
