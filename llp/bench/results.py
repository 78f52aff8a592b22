"""The result tables of the pages, made from run records that are committed beside them.

`python -m llp.bench.results` writes the tables of `docs/*.md` anew, each between `<!-- table: NAME -->` and
`<!-- end -->`; `<!-- tests: NAME -->` begins the tests of the best method against the others, `<!-- rates: NAME -->`
what each learning rate of a search gave, `<!-- selection: NAME -->` how well each held-out criterion picks the epoch.
`python -m llp.bench.results NAME FOLDER` first keeps the records of all finished runs below a folder as
`docs/results/NAME.jsonl`, a line per run, and their curves, where they hold a test AUC beside the criteria, as
`docs/results/NAME.csv`, a line per look. Of runs at several learning rates those at the rate that held-out bags chose
are shown, as `llp.report learning_rate=held_out` does.
"""

import re
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import polars as pl

from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError
from llp.results.collect import Collected, collect
from llp.results.curves import read_columns
from llp.results.rates import at_held_out_rates
from llp.results.summary import summarize
from llp.results.table import to_markdown
from llp.results.tables.selection import CRITERIA, selection
from llp.results.tables.significance import paired_tests
from llp.results.variants import name_variants
from llp.runs.record import RunRecord

DOCS = CONF_DIR.parent / "docs"
OF_POINT = ("dataset", "grouping_key", "method", "fold", "seed", "config_hash")
OF_RUN = ("config_hash", "fold", "seed")
OF_LOOK = ("test_auc", *CRITERIA.values())
TABLE = re.compile(r"(<!-- (table|tests|rates|selection): (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


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
    columns = pl.DataFrame(read_columns(place, OF_LOOK), schema=dict.fromkeys(OF_LOOK, pl.Float64)).fill_nan(None)
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


@contextmanager
def _collected(records: Sequence[RunRecord], looks: pl.DataFrame | None = None) -> Iterator[Collected]:
    """What a report would collect of the records, at the rates that were chosen; their curves lie beside them."""
    with tempfile.TemporaryDirectory() as folder:
        for number, record in enumerate(records):
            place = Path(folder, str(number))
            record.write(place / "result.json")
            if looks is not None:
                own = [pl.col(name) == getattr(record, name) for name in OF_RUN]
                looks.filter(own).select(OF_LOOK).write_csv(place / "metrics.csv")
        yield at_held_out_rates(collect(Path(folder)))[0]


def at_chosen_rates(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Keep the records that `llp.results.rates` keeps."""
    with _collected(records) as collected:
        kept = set(collected.runs.select(OF_RUN).iter_rows())
    return [record for record in records if attrgetter(*OF_RUN)(record) in kept]


def table_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per method, for each grouping key mean ± sample standard deviation and epochs.

    The deviation is left out where there is one run. Of several learning rates the chosen one is told.

    Methods stand in the order of the first key's mean, the best first.
    """
    shown = at_chosen_rates(records)
    cells: dict[str, dict[str, list[RunRecord]]] = defaultdict(dict)
    for record in shown:
        cells[record.method].setdefault(record.grouping_key, []).append(record)
    keys = sorted({record.grouping_key for record in shown})
    metric = shown[0].metric
    best_first = sorted(
        cells, key=lambda method: statistics.mean(_values(cells[method][keys[0]])), reverse=metric.mode == "max"
    )
    several = len(shown) < len(records)
    titles = ("epochs", "rate") if several else ("epochs",)
    header = ["method", *(text for key in keys for text in (f"test {metric.name}, {key}", *titles))]
    lines = [header, ["---"] * len(header)]
    lines += [
        [f"`{name}`", *(text for key in keys for text in _cell(cells[name][key], several))] for name in best_first
    ]
    commits = ", ".join(sorted({(record.git_commit or "unknown")[:8] for record in records}))
    note = f"{len(shown)} runs; seeds {_set(r.seed for r in shown)}, folds {_set(r.fold for r in shown)}"
    if several:
        note += f"; their rates chosen on held-out bags among {len(records)} runs"
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{table}\n{note}; code of commit {commits}.\n"


def comparison_of(records: Sequence[RunRecord]) -> str:
    """Make the Markdown table of a report that sets the best method of each bag dataset beside the others."""
    with _collected(records) as collected:
        runs = name_variants(collected.runs, collected.configs)
    table = paired_tests(summarize(runs), runs)
    if table is None:
        raise ValueError("the records hold no two methods on bags with common folds")
    return to_markdown(table).split("\n", 2)[2]  # without its title


def rates_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table of a search: a row per method, the test metric at each learning rate, the chosen in bold.

    Of several folds and seeds the first is shown.
    """
    fold, seed = min((record.fold, record.seed) for record in records)
    searched = [record for record in records if (record.fold, record.seed) == (fold, seed) and record.stages[-1].epochs]
    chosen = {record.config_hash for record in at_chosen_rates(records)}
    found: dict[str, dict[float, str]] = defaultdict(dict)
    for record in searched:
        value = f"{statistics.mean(_values([record])):.4f}"
        found[record.method][_rate(record)] = f"**{value}**" if record.config_hash in chosen else value
    rates = sorted({rate for by_rate in found.values() for rate in by_rate})
    lines = [["method", *(f"rate {rate:g}" for rate in rates)], ["---"] * (len(rates) + 1)]
    lines += [[f"`{name}`", *(found[name].get(rate, "") for rate in rates)] for name in sorted(found)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    metric, key = searched[0].metric.name, searched[0].grouping_key
    return (
        f"{table}\nTest {metric}, {key}, fold {fold}, seed {seed}; in bold at the rate that the held-out bags chose.\n"
    )


def selection_of(records: Sequence[RunRecord], looks: pl.DataFrame) -> str:
    """Make the Markdown table of a report that says how well each held-out criterion picks the epoch.

    Parameters
    ----------
    records : sequence of RunRecord
        The runs.
    looks : pl.DataFrame
        Their curves, as `keep` keeps them.
    """
    with _collected(records, looks) as collected:
        runs = name_variants(collected.runs, collected.configs)
        table = selection(summarize(runs), runs)
    if table is None:
        raise ValueError("the curves hold no test AUC beside a held-out criterion")
    return to_markdown(table).split("\n", 2)[2]  # without its title


def _rate(record: RunRecord) -> float:
    optimizer = record.config["optimizer"]
    assert isinstance(optimizer, dict)
    return float(str(optimizer["lr"]))


def _values(records: Iterable[RunRecord]) -> list[float]:
    return [float("nan") if record.metric.best is None else record.metric.best for record in records]


def _set(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(numbers))))


def _cell(records: Sequence[RunRecord], with_rate: bool) -> list[str]:
    """Mean ± standard deviation of the metric, the epochs, stage by stage (nothing where none is), and the rate."""
    values = _values(records)
    stages = zip(*([stage.epochs for stage in record.stages] for record in records), strict=True)
    epochs = " + ".join(f"{statistics.mean(of_one):.0f}" for of_one in stages)
    trained = epochs != "0"
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    cell = [f"{statistics.mean(values):.4f}{spread}", epochs if trained else ""]
    if with_rate:
        cell.append(f"{_rate(records[0]):g}" if trained else "")
    return cell


MADE = {"table": table_of, "tests": comparison_of, "rates": rates_of}


def with_tables(text: str) -> str:
    """Give a page's text with every table made from its records."""
    return TABLE.sub(
        lambda found: f"{found[1]}\n{_made(found[2], DOCS / 'results' / f'{found[3]}.jsonl')}{found[4]}", text
    )


def _made(kind: str, path: Path) -> str:
    if kind == "selection":
        return selection_of(read(path), pl.read_csv(path.with_suffix(".csv"), schema_overrides={OF_RUN[0]: pl.String}))
    return MADE[kind](read(path))


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
