"""The result tables of the pages, made from run records that are committed beside them.

`python -m llp.bench.results` writes the tables of `docs/*.md` anew, each between `<!-- table: NAME -->` and
`<!-- end -->`. `python -m llp.bench.results NAME FOLDER` first keeps the records of all finished runs below a folder as
`docs/results/NAME.jsonl`, a line per run.
"""

import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from llp.config.grouping_keys import CONF_DIR
from llp.runs.record import RunRecord

DOCS = CONF_DIR.parent / "docs"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def keep(folder: Path, path: Path) -> None:
    """Keep the records of the finished runs below a folder, ordered by their point."""
    records = [RunRecord.read(result) for result in folder.rglob("result.json")]
    records.sort(key=lambda record: (record.dataset, record.grouping_key, record.method, record.fold, record.seed))
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(record.model_dump_json() + "\n" for record in records))


def read(path: Path) -> list[RunRecord]:
    """Read the records of a file, one a line."""
    return [RunRecord.model_validate_json(line) for line in path.read_text().splitlines()]


def table_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per method, for each grouping key mean ± sample standard deviation and epochs.

    The deviation is left out where there is one run.

    Methods stand in the order of the first key's mean, the best first.
    """
    cells: dict[str, dict[str, list[RunRecord]]] = defaultdict(dict)
    for record in records:
        cells[record.method].setdefault(record.grouping_key, []).append(record)
    keys = sorted({record.grouping_key for record in records})
    metric = records[0].metric
    best_first = sorted(
        cells, key=lambda method: statistics.mean(_values(cells[method][keys[0]])), reverse=metric.mode == "max"
    )
    header = ["method", *(text for key in keys for text in (f"test {metric.name}, {key}", "epochs"))]
    lines = [header, ["---"] * len(header)]
    lines += [[f"`{name}`", *(text for key in keys for text in _cell(cells[name][key]))] for name in best_first]
    commits = ", ".join(sorted({(record.git_commit or "unknown")[:8] for record in records}))
    note = f"{len(records)} runs; seeds {_set(r.seed for r in records)}, folds {_set(r.fold for r in records)}"
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{table}\n{note}; code of commit {commits}.\n"


def _values(records: Iterable[RunRecord]) -> list[float]:
    return [float("nan") if record.metric.best is None else record.metric.best for record in records]


def _set(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(numbers))))


def _cell(records: Sequence[RunRecord]) -> tuple[str, str]:
    """Mean ± standard deviation of the metric, and the epochs trained, stage by stage (nothing where none is)."""
    values = _values(records)
    stages = zip(*([stage.epochs for stage in record.stages] for record in records), strict=True)
    epochs = " + ".join(f"{statistics.mean(of_one):.0f}" for of_one in stages)
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.4f}{spread}", "" if epochs == "0" else epochs


def with_tables(text: str) -> str:
    """Give a page's text with every table made from its records."""
    return TABLE.sub(
        lambda found: f"{found[1]}\n{table_of(read(DOCS / 'results' / f'{found[2]}.jsonl'))}{found[3]}", text
    )


def main() -> None:
    """Keep records if some are named, and write the tables."""
    if len(sys.argv) == 3:
        keep(Path(sys.argv[2]), DOCS / "results" / f"{sys.argv[1]}.jsonl")
    for page in DOCS.glob("*.md"):
        text = page.read_text()
        if (made := with_tables(text)) != text:
            page.write_text(made)


if __name__ == "__main__":
    main()
