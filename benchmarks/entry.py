"""Put a method from outside on the board: `python -m benchmarks.entry METHOD [FOLDER]`.

The method is of an installed plug-in, and `python -m benchmarks.suite method=METHOD` has trained it below FOLDER,
`outputs` by default. Its records are verified: each is whole, its table and its options are the board's, its hash is
that of its config on that table, no point of the board's is missing, and three points that the records themselves draw
give equal values when they are trained again. Then they are kept as `docs/results/entry_METHOD.DATASET_KEY.parquet`
with the plug-in as their source, and the pages are made again.
"""

import hashlib
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from omegaconf import OmegaConf

from benchmarks.records import SOURCE, Kept, Place, files_of, keep, read, runs_below
from benchmarks.results import write_pages
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.runs.identity import Run
from llp.runs.record import RunRecord

OWN = ("method", "model", "optimizer", "fold", "seed")
"""Groups of a config in which an entry may differ from the board, or its runs from each other."""
N_AGAIN = 3


def verify(runs: Sequence[Kept], board: Sequence[RunRecord], data_dir: Path) -> None:
    """Hold an entry's records against the board's.

    Raises
    ------
    InputError
        One is of another table or of other options, has another hash than its config, saw labels of rows, or a point
        is missing.
    """
    shared, tables = defaultdict[Place, set[str]](set), dict[str, InstanceTable]()
    for record in board:
        shared[_place(record)].add(_shared(record))
    for record, _ in runs:
        if _place(record) not in shared:
            raise InputError(f"{_point(record)}: no bag dataset of the board")
        if _shared(record) not in shared[_place(record)]:
            raise InputError(f"{_point(record)}: its table or its options beside {', '.join(OWN)} are not the board's")
        if record.instance_labels:
            raise InputError(f"{_point(record)}: it saw labels of rows, expected a method that learns from bags")
        if record.table not in tables:
            tables[record.table] = InstanceTable.open(data_dir / str(_group(record, "dataset")["table"]))
        if Run.of(record.config, tables[record.table], Path()).hash != record.config_hash:
            raise InputError(f"{_point(record)}: its hash {record.config_hash} is not that of its config on this table")
    kinds, own = {record.label_kind for record, _ in runs}, {_point(record) for record, _ in runs}
    if missing := sorted({_point(record) for record in board if record.label_kind in kinds} - own):
        raise InputError(f"{len(missing)} of the board's points are missing, such as {missing[0]}")
    if len(runs) > len(own):
        raise InputError(f"{len(runs) - len(own)} runs are of points that others have: expected runs of one setting")


def _place(record: RunRecord) -> Place:
    return record.dataset, record.grouping_key


def _point(record: RunRecord) -> str:
    return f"{record.dataset} {record.grouping_key} fold={record.fold} seed={record.seed}"


def _group(record: RunRecord, name: str) -> dict[str, object]:
    group = record.config[name]
    assert isinstance(group, dict)
    return dict(group)


def _shared(record: RunRecord) -> str:
    """What all methods of the board have in common on a bag dataset."""
    return str((record.table, [(name, record.config[name]) for name in sorted(record.config) if name not in OWN]))


def train_again(runs: Sequence[Kept]) -> None:
    """Train points again that a digest of all records draws; InputError where one gives other values."""
    texts = "".join(sorted(record.model_dump_json() for record, _ in runs))
    draw = random.Random(hashlib.sha256(texts.encode()).hexdigest())
    for record, _ in draw.sample(list(runs), min(N_AGAIN, len(runs))):
        with tempfile.TemporaryDirectory() as folder:
            OmegaConf.save(OmegaConf.create(record.config), Path(folder) / "config.yaml")
            command = [sys.executable, "-m", "llp.train", f"from={folder}", f"outputs_dir={folder}/again"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InputError(f"{_point(record)}: training it again ended with {done.stderr.strip()[-500:]}")
            again = [one for one, _ in runs_below(Path(folder) / "again") if one.config_hash == record.config_hash]
        if [(one.metric, one.measures) for one in again] != [(record.metric, record.measures)]:
            raise InputError(f"{_point(record)}: trained again, its values are others")
        print(f"{_point(record)}: {record.metric.name} {record.metric.best} again")


def source_of(record: RunRecord) -> str:
    """Name, version and address of the plug-in that a record's method is of; InputError where it is of none."""
    package = str(_group(record, "method")["_target_"]).partition(".")[0]
    for point in entry_points(group="llp.plugins"):
        if point.value == package and point.dist is not None:
            about = point.dist.metadata
            urls = [url.partition(", ")[2] for url in about.get_all("Project-URL") or ()]
            return ", ".join([f"{about['Name']} {about['Version']}", *urls[:1]])
    raise InputError(f"method {record.method} is of {package}, which is no installed plug-in: see docs/extend.md")


def main() -> None:
    """Verify the records of the method that the command line names, keep them, and make the pages again."""
    words = sys.argv[1:]
    if not words or {"-h", "--help"} & {*words}:
        print(__doc__)
        return
    method, folder, *others = [*words, "outputs"]
    try:
        if others[1:]:
            raise InputError("Invalid arguments: expected python -m benchmarks.entry METHOD [FOLDER]")
        runs = [(record, looks) for record, looks in runs_below(Path(folder)) if record.method == method]
        if not runs:
            raise InputError(
                f"No run of {method} is finished below {folder}: python -m benchmarks.suite method={method}"
            )
        source, data_dir = source_of(runs[0][0]), Path(os.environ.get("LLP_DATA_DIR", "data"))
        verify(runs, [record for path in files_of("board") for record in read(path)], data_dir)
        train_again(runs)
        keep([(_with_source(record, source), looks) for record, looks in runs], f"entry_{method}")
        write_pages()
    except InputError as error:
        sys.exit(str(error))
    print(f"{len(runs)} records of {method} are on the board; source: {source}")


def _with_source(record: RunRecord, source: str) -> RunRecord:
    return record.model_copy(update={"versions": {**record.versions, SOURCE: source}})


if __name__ == "__main__":
    main()
