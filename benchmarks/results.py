"""The result tables of the pages, made from run records that are committed beside them.

`python -m benchmarks.results` writes the tables of `docs/*.md` again, each between `<!-- KIND: NAME -->` and
`<!-- end -->`, where the kind is

- `table`: the methods on each bag dataset; `tests`: the best of them against the others;
- `means`, `ranks`: the methods beside each other over all bag datasets;
- `rates`: what each learning rate of a search gave; `choices`: how those that were chosen did, over all bag datasets;
- `selection`: how well each held-out criterion picks the epoch; `repicked`: `means` where `upm` does; `picks`: how well
  the epoch and the rate together;
- `keys`, `epochs`: by the kind of bags, of two with a test of their difference; by what picked the epoch;
- `noise`, `study`: by the ε of noise on the sums; by the bags' number and size;
- `reports`: of several tables what reports give, beside all labels.

Where no records have that name it stands for all whose names begin with it, as `suite` for `suite_delay_random_64`.
`python -m benchmarks.results NAME FOLDER` first keeps the records and curves of all finished runs below a folder as
`docs/results/NAME_DATASET_KEY.parquet` (`benchmarks.records`). Of runs at several learning rates those at the rate that
held-out bags chose are shown, as `llp.report learning_rate=held_out` does.
"""

import re
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import polars as pl

from benchmarks.records import DOCS, files_of, keep, read, read_looks, runs_below
from benchmarks.result_grids import epochs_of, keys_of, noise_of, reports_of, selected_by, study_of
from benchmarks.result_searches import choices_of, picks_of, rates_of
from benchmarks.result_tables import (
    comparison_of,
    means_of,
    ranks_of,
    repicked_of,
    selection_of,
    table_of,
)
from llp.errors import InputError
from llp.files import write_atomically

MADE = {
    "table": table_of,
    "tests": comparison_of,
    "means": means_of,
    "ranks": ranks_of,
    "rates": rates_of,
    "choices": choices_of,
    "keys": keys_of,
    "epochs": epochs_of,
    "noise": noise_of,
    "study": study_of,
    "reports": reports_of,
}
MADE_OF_CURVES = {"selection": selection_of, "repicked": repicked_of, "picks": picks_of}
BEGIN, END = re.compile(r"<!-- (\w+): (\w+) -->"), "<!-- end -->"
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
    return TABLE.sub(lambda found: f"{found[1]}\n{_made(found[2], found[3])}{found[4]}", text)


def _made(kind: str, name: str) -> str:
    if kind not in {*MADE, *MADE_OF_CURVES}:
        raise InputError(f"<!-- {kind}: {name} -->: no kind of table; expected {', '.join([*MADE, *MADE_OF_CURVES])}")
    files = files_of(name)
    if not files:
        raise InputError(f"<!-- {kind}: {name} -->: no records of that name; keep some: {USAGE}")
    records = [record for path in files for record in read(path)]
    picked = sorted({selected_by(record) for record in records})
    if kind != "epochs" and len(picked) > 1:
        raise InputError(
            f"<!-- {kind}: {name} -->: the epochs of its runs were picked by {' and by '.join(picked)}, which do not "
            f"compare; expected runs of one, or <!-- epochs: {name} -->"
        )
    if kind in MADE:
        return MADE[kind](records)
    looks = pl.concat(map(read_looks, files))
    if looks.is_empty():
        raise InputError(f"<!-- {kind}: {name} -->: no curves; expected runs with protocol.test_in_curve=true")
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
            keep(runs_below(Path(given[1])), given[0])
        write_pages()
    except InputError as error:
        sys.exit(str(error))


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
