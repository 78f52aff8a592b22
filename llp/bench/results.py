"""The result tables of the pages, made from run records that are committed beside them.

`python -m llp.bench.results` writes the tables of `docs/*.md` anew, each between `<!-- KIND: NAME -->` and
`<!-- end -->`, where the kind is

- `table`: the methods on each bag dataset; `tests`: the best of them against the others;
- `means`, `ranks`: the methods beside each other over all bag datasets;
- `rates`: what each learning rate of a search gave; `choices`: how those that were chosen did, over all bag datasets;
- `selection`: how well each held-out criterion picks the epoch; `picks`: the epoch and the rate together;
- `keys`, `epochs`: by the kind of bags; by what picked the epoch;
- `noise`, `study`: by the ε of noise on the sums; by the bags' number and size.

Where no records have that name it stands for all whose names begin with it, as `suite` for `suite_delay_random_64`.
`python -m llp.bench.results NAME FOLDER` first keeps the records of all finished runs below a folder as
`docs/results/NAME.jsonl`, a line per run, and their curves, where they hold a test AUC beside the criteria, as
`docs/results/NAME.csv`, a line per look. Of runs at several learning rates those at the rate that held-out bags chose
are shown, as `llp.report learning_rate=held_out` does.
"""

import re
import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import polars as pl

from llp.bench.result_grids import epochs_of, keys_of, noise_of, study_of
from llp.bench.result_searches import choices_of, picks_of, rates_of
from llp.bench.result_tables import (
    OF_LOOK,
    OF_POINT,
    OF_RUN,
    comparison_of,
    means_of,
    ranks_of,
    selection_of,
    table_of,
)
from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError
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
MADE_OF_CURVES = {"selection": selection_of, "picks": picks_of}
TABLE = re.compile(rf"(<!-- ({'|'.join([*MADE, *MADE_OF_CURVES])}): (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def keep(folder: Path, path: Path) -> None:
    """Keep the records of the finished runs below a folder, ordered by their point, without the machine's paths.

    Their curves go beside them, where the runs wrote such as `selection_of` reads.

    Raises
    ------
    InputError
        No run is finished there.
    """
    records = [(_without_place(RunRecord.read(result)), result.parent) for result in folder.rglob("result.json")]
    if not records:
        raise InputError(
            f"No run is finished below {folder}: expected a folder of an outputs folder, as outputs/flights"
        )
    records.sort(key=lambda one: attrgetter(*OF_POINT)(one[0]))
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(record.model_dump_json() + "\n" for record, _ in records))
    looks = pl.concat([_looks(record, place) for record, place in records])
    curves = path.with_suffix(".csv")
    curves.unlink(missing_ok=True)  # of records that were kept under this name before
    if len(looks):
        looks.write_csv(curves, float_precision=6)


def _looks(record: RunRecord, place: Path) -> pl.DataFrame:
    """The looks at a run's model by which an epoch may be picked, none where its curve has no test AUC beside them."""
    columns = pl.DataFrame(read_columns(place, OF_LOOK), schema={name: LOOKS[name] for name in OF_LOOK}).fill_nan(None)
    looks = columns.filter(pl.col("test_auc").is_not_null() & pl.any_horizontal(pl.col(OF_LOOK[1:]).is_not_null()))
    return looks.select(*(pl.lit(getattr(record, name)).alias(name) for name in OF_RUN), *OF_LOOK)


def _without_place(record: RunRecord) -> RunRecord:
    """A record whose stages name their runs by their places below an outputs folder."""
    stages = [
        stage if stage.run is None else stage.model_copy(update={"run": "/".join(Path(stage.run).parts[-6:])})
        for stage in record.stages
    ]
    return record.model_copy(update={"stages": stages})


def read(path: Path) -> list[RunRecord]:
    """Read the records of a file, one a line."""
    return [RunRecord.model_validate_json(line) for line in path.read_text().splitlines()]


def files_of(name: str) -> list[Path]:
    """The record files that a table's name stands for."""
    folder = DOCS / "results"
    whole = folder / f"{name}.jsonl"
    return [whole] if whole.is_file() else sorted(folder.glob(f"{name}_*.jsonl"))


def with_tables(text: str) -> str:
    """Give a page's text with every table made from its records."""
    return TABLE.sub(lambda found: f"{found[1]}\n{_made(found[2], files_of(found[3]))}{found[4]}", text)


def _made(kind: str, files: Sequence[Path]) -> str:
    records = [record for path in files for record in read(path)]
    if kind in MADE:
        return MADE[kind](records)
    curves = [path.with_suffix(".csv") for path in files if path.with_suffix(".csv").is_file()]
    return MADE_OF_CURVES[kind](records, pl.concat(pl.read_csv(path, schema_overrides=LOOKS) for path in curves))


def main() -> None:
    """Keep records if some are named, and write the tables."""
    if len(sys.argv) == 3:
        try:
            keep(Path(sys.argv[2]), DOCS / "results" / f"{sys.argv[1]}.jsonl")
        except InputError as error:
            sys.exit(str(error))
    for page in DOCS.glob("*.md"):
        text = page.read_text()
        if (made := with_tables(text)) != text:
            page.write_text(made)


if __name__ == "__main__":
    main()
