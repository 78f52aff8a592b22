"""Scores of new rows: `python -m llp.predict run=FOLDER files=new.parquet out=scores.parquet`."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

from pathlib import Path

from rich.progress import Progress

from llp.config.commands import PredictConfig
from llp.config.hydra_main import command_of
from llp.data.table import InstanceTable
from llp.errors import InputError


@command_of(PredictConfig)
def main(config: PredictConfig) -> None:
    """Score the rows that `files` or `dataset` names, and say how many."""
    import torch

    from llp.datasets.files.recipe import Recipe
    from llp.datasets.reading.find import find_files
    from llp.scoring.predict import check_not_read, check_out, write_scores
    from llp.scoring.raw_rows import RawRows, raw_coder
    from llp.scoring.rows import FilesRows, TableRows, check_same_columns
    from llp.scoring.trained import TrainedRuns, find_runs

    torch.set_num_threads(1)  # blocks are scored side by side
    if (config.files is None) == (config.dataset is None):
        raise InputError("Missing files: expected either files= or dataset=, such as files=new.parquet")
    out = Path(config.out)
    check_out(out)
    runs = TrainedRuns.open(find_runs(config.run), config.data_dir)
    with Progress() as progress:
        if config.files is None:
            assert config.dataset is not None
            table = InstanceTable.open(config.data_dir / config.dataset.table)
            check_same_columns(table, runs.table)
            rows = TableRows(table)
            task = progress.add_task("score", total=table.n_rows)
            written = write_scores(runs, rows, out, lambda n: progress.advance(task, n))
        elif coder := raw_coder(runs.table):
            raw = RawRows(config.files, coder, lambda n: progress.advance(task, n))
            check_not_read(out, raw.paths)
            task = progress.add_task("score", total=raw.total_bytes)
            written = write_scores(runs, raw, out, lambda n: None)
            raw.tell_outside()
        else:
            found = find_files(config.files, option="files")
            check_not_read(out, [file.path for file in found])
            task = progress.add_task("score", total=sum(file.path.stat().st_size for file in found))
            read = FilesRows(found, Recipe.load(runs.table.folder), lambda n: progress.advance(task, n))
            written = write_scores(runs, read, out, lambda n: None)
            read.unknown.tell()
    rate = written.rows / written.seconds
    print(f"{out}: {written.rows:,} rows in {written.seconds:.1f} s, {rate:,.0f} rows/s")


if __name__ == "__main__":
    main()
    signals.ignore()
