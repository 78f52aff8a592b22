"""The result tables of the pages, made from run records that are committed beside them.

`python -m benchmarks.results` writes the tables of `docs/*.md` again, each between `<!-- KIND: NAME -->` and
`<!-- end -->`, where the kind is

- `table`: the methods on each bag dataset; `tests`: the best of them against the others;
- `means`, `ranks`: the methods beside each other over all bag datasets;
- `rates`: what each learning rate of a search gave; `choices`: how those that were chosen did, over all bag datasets;
- `selection`: how well each held-out criterion picks the epoch; `repicked`: `means` where `upm` does; `picks`: how well
  the epoch and the rate together;
- `keys`, `epochs`: by the kind of bags, of two with a test of their difference; by what picked the epoch;
- `noise`, `study`: by the ε of noise on the sums; by the bags' number and size.

Where no records have that name it stands for all whose names begin with it, as `suite` for `suite_delay_random_64`.
`python -m benchmarks.results NAME FOLDER` first keeps the records of all finished runs below a folder as
`docs/results/NAME.jsonl`, a line per run, and their curves, where they hold a test AUC beside the criteria, as
`docs/results/NAME.csv`, a line per evaluation. Of runs at several learning rates those at the rate that held-out bags
chose are shown, as `llp.report learning_rate=held_out` does.
"""

import re
import sys
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from benchmarks.result_grids import epochs_of, keys_of, noise_of, selected_by, study_of
from benchmarks.result_searches import choices_of, picks_of, rates_of
from benchmarks.result_tables import (
    OF_LOOK,
    OF_POINT,
    OF_RUN,
    comparison_of,
    means_of,
    ranks_of,
    repicked_of,
    selection_of,
    table_of,
)
from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError
from llp.files import write_atomically
from llp.results.curves import read_columns
from llp.runs.record import RunRecord

DOCS = CONF_DIR.parent / "docs"
LOOKS = {"config_hash": pl.String, "fold": pl.Int64, "seed": pl.Int64, **dict.fromkeys(OF_LOOK, pl.Float64)}
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
}
MADE_OF_CURVES = {"selection": selection_of, "repicked": repicked_of, "picks": picks_of}
BEGIN, END = re.compile(r"<!-- (\w+): (\w+) -->"), "<!-- end -->"
TABLE = re.compile(rf"(^{BEGIN.pattern}\n).*?(^{END}$)", re.DOTALL | re.MULTILINE)
USAGE = "python -m benchmarks.results, or with records to keep first: python -m benchmarks.results NAME FOLDER"


def keep(folder: Path, path: Path) -> None:
    """Keep the records of the finished runs below a folder, ordered by their point, without the machine's paths.

    Of copies of a run the first is kept. Curves go beside the records, where the runs wrote such as `selection_of`
    reads.

    Raises
    ------
    InputError
        No run is finished there.
    """
    results = sorted(folder.rglob("result.json"), reverse=True)
    found = [(_without_place(RunRecord.read(result)), result.parent) for result in results]
    records = list({attrgetter(*OF_POINT)(record): (record, place) for record, place in found}.values())
    if len(records) < len(found):
        print(f"{len(found) - len(records)} of {len(found)} runs are copies of others and left out", file=sys.stderr)
    if not records:
        raise InputError(
            f"No run is finished below {folder}: expected a folder of an outputs folder, as outputs/flights"
        )
    records.sort(key=lambda one: attrgetter(*OF_POINT)(one[0]))
    lines = "".join(record.model_dump_json() + "\n" for record, _ in records)
    write_atomically(path, lambda file: file.write_text(lines))
    looks = pl.concat([_looks(record, place) for record, place in records])
    curves = path.with_suffix(".csv")
    curves.unlink(missing_ok=True)  # of records that were kept under this name before
    if len(looks):
        write_atomically(curves, lambda file: looks.write_csv(file, float_precision=6))


def _looks(record: RunRecord, place: Path) -> pl.DataFrame:
    """The evaluations of a run by which an epoch may be picked, none where its curve has no test AUC beside them."""
    columns = pl.DataFrame(read_columns(place, OF_LOOK), schema={name: LOOKS[name] for name in OF_LOOK}).fill_nan(None)
    looks = columns.filter(pl.col("test_auc").is_not_null() & pl.any_horizontal(pl.col(OF_LOOK[1:]).is_not_null()))
    return looks.select(*(pl.lit(getattr(record, name)).alias(name) for name in OF_RUN), *OF_LOOK)


def _without_place(record: RunRecord) -> RunRecord:
    """A record that names the runs of its stages by their places below an outputs folder, and scores by their file."""
    stages = [
        stage if stage.run is None else stage.model_copy(update={"run": "/".join(Path(stage.run).parts[-6:])})
        for stage in record.stages
    ]
    key = record.config["grouping_key"]
    if isinstance(key, dict) and key.get("scores"):
        key = key | {"scores": Path(str(key["scores"])).name}
    return record.model_copy(update={"stages": stages, "config": {**record.config, "grouping_key": key}})


def read(path: Path) -> list[RunRecord]:
    """Read the records of a file, one a line.

    Raises
    ------
    InputError
        There are none, or a line is no record.
    """
    records = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            records.append(RunRecord.model_validate_json(line))
        except ValidationError as error:
            raise InputError(f"{path}, line {number}: no record of a run ({error.errors()[0]['msg']})") from None
    if not records:
        raise InputError(f"{path}: expected a record of a run a line, but it is empty")
    return records


def files_of(name: str) -> list[Path]:
    """The record files that a table's name stands for."""
    folder = DOCS / "results"
    whole = folder / f"{name}.jsonl"
    return [whole] if whole.is_file() else sorted(folder.glob(f"{name}_*.jsonl"))


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
    curves = [path.with_suffix(".csv") for path in files if path.with_suffix(".csv").is_file()]
    if not curves:
        raise InputError(f"<!-- {kind}: {name} -->: no curves; expected runs with protocol.test_in_curve=true")
    return MADE_OF_CURVES[kind](records, pl.concat(pl.read_csv(path, schema_overrides=LOOKS) for path in curves))


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
            keep(Path(given[1]), DOCS / "results" / f"{given[0]}.jsonl")
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
