"""Tables, figures and a page of the finished runs: `python -m llp.report dataset=flights`."""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

import difflib
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from omegaconf import OmegaConf
from rich.console import Console
from rich.markup import escape

from llp.config.commands import ReportConfig
from llp.config.hydra_main import command_of
from llp.errors import InputError
from llp.files import writing_in
from llp.results import contents, published
from llp.results.chosen import datasets_of, filtered, of_experiment
from llp.results.collect import Collected, collect, fingerprint
from llp.results.output import ReportFiles, write_files
from llp.results.rates import Chosen, at_held_out_rates
from llp.results.sections import Choice, make_report
from llp.results.summary import summarize
from llp.results.table import show
from llp.results.variants import name_variants
from llp.results.wandb_run import log_report

log = logging.getLogger(__name__)

WATCH_SECONDS = 10
PRINTED = ("scores", "training", "completeness")  # unless tables= asks for others
_TRAIN = "python -m llp.train -m dataset=flights method=dllp_bce,group_prior"


OmegaConf.register_new_resolver(
    "llp.report.names", lambda kind: ", ".join(getattr(contents, kind.upper())), replace=True
)


@command_of(ReportConfig, groups=False)
def main(config: ReportConfig) -> None:
    """Report on an outputs folder, with watch=true again whenever a run has ended."""
    before = None
    while True:
        if before != (before := fingerprint(config.outputs_dir)):
            files = report(
                config.outputs_dir,
                dataset=config.dataset,
                grouping_key=config.grouping_key,
                method=config.method,
                experiment=config.experiment,
                learning_rate=config.learning_rate,
                tables=config.tables,
                figures=config.figures,
                refresh_seconds=WATCH_SECONDS if config.watch else None,
            )
            log.info("written: %s", files.page)
            if config.logger == "wandb":
                log_report(config, files)
        if not config.watch:
            return
        time.sleep(WATCH_SECONDS)


def report(
    outputs_dir: Path,
    *,
    dataset: Sequence[str] | None = None,
    grouping_key: Sequence[str] | None = None,
    method: Sequence[str] | None = None,
    experiment: str | None = None,
    learning_rate: Literal["all", "held_out"] = "all",
    tables: Sequence[str] | None = None,
    figures: Sequence[str] | None = None,
    refresh_seconds: int | None = None,
    console: Console | None = None,
) -> ReportFiles:
    """Show the runs of a folder, and write tables, figures and a page to `<outputs_dir>/report/`.

    Parameters
    ----------
    outputs_dir : Path
        The runs' `outputs_dir`.
    dataset, grouping_key, method : sequence of str, optional
        Names to keep; all by default.
    experiment : str, optional
        Keep the points that grids of this experiment asked for.
    learning_rate : {'all', 'held_out'}
        Keep all runs, or of those that differ in it alone the ones that `llp.results.rates` chooses.
    tables, figures : sequence of str, optional
        Names of the tables and figures to make, see `llp.results.contents`; all by default.
    refresh_seconds : int, optional
        After how long a browser loads the page again.
    console : rich.console.Console, optional
        Where the tables are printed; standard output by default.

    Raises
    ------
    InputError
        There is no such dataset, grouping key, method, experiment, table or figure, or no such folder and more than
        published numbers is asked for.
    """
    names = _known("tables", tables, contents.TABLES), _known("figures", figures, contents.FIGURES)
    choice = Choice(*names, grouping_keys=grouping_key)
    if not outputs_dir.is_dir() and not (dataset and set(dataset) <= set(published.DATASETS)):
        raise InputError(
            f"Invalid outputs_dir={outputs_dir}: no such folder; train some runs: {_TRAIN}; or see the "
            f"published numbers alone: dataset=[{','.join(published.DATASETS)}]"
        )
    filters = {"dataset": dataset, "grouping_key": grouping_key, "method": method}
    collected = of_experiment(collect(outputs_dir), experiment)
    datasets, unstarted = datasets_of(outputs_dir, collected, dataset)
    collected = filtered(outputs_dir, collected, {name: names for name, names in filters.items() if names is not None})
    chosen: list[Chosen] = []
    if learning_rate == "held_out":
        collected, chosen = at_held_out_rates(collected)
    runs = name_variants(collected.runs, collected.configs)
    cells = summarize(runs)
    folder = outputs_dir / "report"
    with writing_in(folder, f"another process is writing {folder}"):
        made = make_report(outputs_dir, datasets, collected, runs, cells, choice=choice)
        console = console or Console()
        rates = [f"  learning rate {one.rate}, of {one.n_rates}, by {one.criterion}: {_where(one)}" for one in chosen]
        if learning_rate == "held_out" and not chosen:
            rates = ["  learning rates: none to choose among, as no fold has held-out losses at two of them"]
        left_out = [f"  left out: {line}" for line in unstarted]
        closing = [*_closing(collected), *left_out, *rates, *(f"  missing: {line}" for line in made.missing)]
        for section in made.sections:
            for name, table in section.tables.items():
                if name in (tables or PRINTED):
                    show(table, console)
        console.print(escape("\n".join(closing)), highlight=False, soft_wrap=True)
        return write_files(
            made,
            runs,
            cells,
            collected.configs,
            outputs_dir=outputs_dir,
            closing=closing,
            refresh_seconds=refresh_seconds,
        )


def _where(one: Chosen) -> str:
    runs = "1 run" if one.n_runs == 1 else f"{one.n_runs} runs"
    beside = f"; no fold in common: {', '.join(one.beside)}" if one.beside else ""
    return f"{one.method} on {one.dataset}, {one.grouping_key} ({one.held_out:.4g} over {runs}{beside})"


def _known(option: str, names: Sequence[str] | None, known: Sequence[str]) -> Sequence[str]:
    for name in names or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise InputError(
                f"Invalid {option}={name}: expected names of {', '.join(known)}, such as {option}={(near or known)[0]}"
            )
    return known if names is None else names


def _closing(collected: Collected) -> list[str]:
    """Completeness, failures with their reason, and records that were left out."""
    line = f"Runs: {len(collected.runs)} finished, {len(collected.failed)} failed"
    if unfinished := len(collected.left) - len(collected.failed):
        line += f", {unfinished} running or cut off (the same command goes on with them)"
    if not len(collected.runs):
        line += f"; train some: {_TRAIN}"
    lines = [line]
    lines += [f"  failed: {one.point}: {one.reason} ({one.folder}/error.json)" for one in collected.failed]
    lines += [f"  left out: {problem}" for problem in collected.problems]
    return lines


if __name__ == "__main__":
    main()
    signals.ignore()
