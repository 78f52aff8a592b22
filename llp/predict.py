"""Scores of new rows: `python -m llp.predict run=FOLDER files=new.parquet out=scores.parquet`."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

from pathlib import Path

from rich.progress import Progress

from llp import methods
from llp.config.commands import PredictConfig
from llp.config.hydra_main import command_of
from llp.config.sources import plugins
from llp.errors import InputError


@command_of(PredictConfig)
def main(config: PredictConfig) -> None:
    """Score the rows that `files` or `dataset` names, and say how many."""
    import torch

    from llp.scoring.predict import check_out, rows_to_score, write_scores
    from llp.scoring.trained import TrainedRuns

    torch.set_num_threads(1)  # blocks are scored side by side
    if (config.files is None) == (config.dataset is None):
        raise InputError("Missing files: expected either files= or dataset=, such as files=new.parquet")
    out = Path(config.out)
    check_out(out)
    runs = TrainedRuns.open(config.run, config.data_dir)
    folder = None if config.dataset is None else config.data_dir / config.dataset.table
    with Progress() as progress:
        task = progress.add_task("score", total=None)
        rows = rows_to_score(config.files, folder, runs.table, lambda n: progress.advance(task, n))
        progress.update(task, total=rows.total)
        written = write_scores(runs, rows, out)
    rate = written.rows / written.seconds
    print(f"{out}: {written.rows:,} rows in {written.seconds:.1f} s, {rate:,.0f} rows/s")


if __name__ == "__main__":
    methods.SCORES_ONLY = not plugins()  # a plug-in's method may need Lightning to be made
    main()
    signals.ignore()
