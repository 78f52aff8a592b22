"""Tables, figures and a page of the finished runs: `python -m llp.report dataset=flights`."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

import logging
import time
from collections.abc import Sequence

from omegaconf import OmegaConf
from rich.console import Console
from rich.markup import escape

from llp.config.commands import ReportConfig
from llp.config.hydra_main import command_of
from llp.datasets.published import BENCHMARKS
from llp.errors import InputError, choice, invalid, nearest
from llp.files import writing_in
from llp.results import contents
from llp.results.chosen import datasets_of, filtered, of_experiment
from llp.results.collect import Collected, collect, fingerprint
from llp.results.output import ReportFiles, write_files
from llp.results.sections import make_report
from llp.results.table import show
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
            files = report(config)
            log.info("written: %s", files.page)
            if config.logger == "wandb":
                log_report(config, files)
        if not config.watch:
            return
        time.sleep(WATCH_SECONDS)


def report(config: ReportConfig, console: Console | None = None) -> ReportFiles:
    """Show the runs of a folder, and write tables, figures and a page to `<outputs_dir>/report/`."""
    outputs_dir = config.outputs_dir
    _check_known("tables", config.tables, contents.TABLES)
    _check_known("figures", config.figures, contents.FIGURES)
    if not outputs_dir.is_dir() and not (config.dataset and set(config.dataset) <= set(BENCHMARKS)):
        raise InputError(
            f"Invalid outputs_dir={outputs_dir}: no such folder; train some runs: {_TRAIN}; or see the "
            f"published numbers alone: dataset=[{','.join(BENCHMARKS)}]"
        )
    collected = of_experiment(collect(outputs_dir), config.experiment)
    datasets = datasets_of(outputs_dir, collected, config.dataset)
    filters = {"dataset": config.dataset, "grouping_key": config.grouping_key, "method": config.method}
    collected = filtered(outputs_dir, collected, {name: names for name, names in filters.items() if names is not None})
    folder = outputs_dir / "report"
    with writing_in(folder, f"another process is writing {folder}"):
        made = make_report(config, datasets, collected)
        made.closing[:0] = _closing(collected)
        console = console or Console()
        for section in made.sections:
            for name, table in section.tables.items():
                if name in (config.tables or PRINTED):
                    show(table, console)
        console.print(escape("\n".join(made.closing)), highlight=False, soft_wrap=True)
        return write_files(made, WATCH_SECONDS if config.watch else None)


def _check_known(option: str, names: Sequence[str] | None, known: Sequence[str]) -> None:
    for name in names or ():
        if name not in known:
            raise invalid(option, name, choice([*known]), nearest(name, known))


def _closing(collected: Collected) -> list[str]:
    """Completeness, failures with their reason, and records that were left out."""
    line = f"Runs: {len(collected.runs)} finished, {len(collected.failed)} failed"
    if unfinished := len(collected.left) - len(collected.failed):
        line += f", {unfinished} running or cut off (the same command resumes them)"
    if not len(collected.runs):
        line += f"; train some: {_TRAIN}"
    lines = [line]
    lines += [f"  failed: {one.point}: {one.reason} ({one.folder}/error.json)" for one in collected.failed]
    lines += [f"  left out: {problem}" for problem in collected.problems]
    return lines


if __name__ == "__main__":
    main()
    signals.ignore()
