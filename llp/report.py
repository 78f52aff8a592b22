"""Tables and figures of the finished runs: `python -m llp.report dataset=flights`."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import hydra
import polars as pl
from hydra.core.config_store import ConfigStore
from hydra.errors import CompactHydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from rich.console import Console
from rich.markup import escape

from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError
from llp.files import folder_name, write_atomically
from llp.results.collect import Collected, Failure, collect
from llp.results.figures import draw
from llp.results.summary import summarize
from llp.results.tables import heading, method_table, metric_table, show, to_csv, to_markdown

log = logging.getLogger(__name__)

FILTERS = ("dataset", "grouping_key", "method")
_TRAIN = "python -m llp.train -m dataset=flights method=dllp_bce,group_prior"
_WIDE = 10_000  # characters: output that is not a terminal is not folded


@dataclass(frozen=True)
class ReportFiles:
    """What a report has written.

    Attributes
    ----------
    markdown : Path
        The whole report.
    results : Path
        results.csv: one row per dataset, protocol, bag dataset and method.
    tables : list of Path
        CSV files of the tables as shown.
    figures : list of Path
        PNG and SVG files.
    """

    markdown: Path
    results: Path
    tables: list[Path]
    figures: list[Path]


# stored by name, without the folder of config groups: with it, dataset=NAME would ask for the group's YAML file
ConfigStore.instance().store("report", OmegaConf.load(CONF_DIR / "report.yaml"))


@hydra.main(config_path=None, config_name="report", version_base="1.3")
def main(config: DictConfig) -> None:
    """Report on an outputs folder."""
    try:
        files = report(
            Path(config.outputs_dir),
            dataset=_names(config.dataset),
            grouping_key=_names(config.grouping_key),
            method=_names(config.method),
        )
    except (InputError, OSError) as error:
        raise CompactHydraException(str(error)) from None  # Hydra prints its message without a traceback
    log.info("written to %s", files.markdown.parent)


def _names(value: Any) -> list[str] | None:
    """The names of an option: one, a list, or null for all."""
    if value is None:
        return None
    return [str(name) for name in value] if isinstance(value, ListConfig) else [str(value)]


def report(
    outputs_dir: Path,
    *,
    dataset: Sequence[str] | None = None,
    grouping_key: Sequence[str] | None = None,
    method: Sequence[str] | None = None,
    console: Console | None = None,
) -> ReportFiles:
    """Show the finished runs of a folder, and write tables and figures to `<outputs_dir>/report/`.

    Parameters
    ----------
    outputs_dir : Path
        The runs' `outputs_dir`.
    dataset, grouping_key, method : sequence of str, optional
        Names to keep; all by default.
    console : rich.console.Console, optional
        Where the tables are printed; standard output by default.

    Raises
    ------
    InputError
        There is no finished run, or none with one of the given names.
    """
    filters = {"dataset": dataset, "grouping_key": grouping_key, "method": method}
    collected = _filtered(collect(outputs_dir), {name: names for name, names in filters.items() if names is not None})
    if not len(collected.runs):
        raise InputError(_nothing(outputs_dir, collected))
    cells = summarize(collected.runs, collected.configs)
    console = console or _console()
    folder = outputs_dir / "report"
    written, pages = ReportFiles(folder / "report.md", folder / "results.csv", [], []), ["# Results\n"]
    for part in cells.partition_by("dataset", "protocol", maintain_order=True):
        name = folder_name(f"{part['dataset'][0]}_{part['protocol'][0]}")
        figures = draw(part, folder / folder_name(f"{part['dataset'][0]}_{part['protocol'][0]}_{part['metric'][0]}"))
        written.figures.extend(figures)
        pages.append(f"## {heading(part)}\n\n![{heading(part)}]({quote(figures[0].name)})\n")
        for table, path in ((metric_table(part), f"{name}.csv"), (method_table(part), f"{name}_training.csv")):
            show(table, console)
            pages.append(to_markdown(table))
            written.tables.append(_write(folder / path, to_csv(table)))
    closing = _closing(collected)
    console.print(escape("\n".join(closing)), highlight=False)
    _write(written.markdown, "\n".join([*pages, "## Runs\n", *(f"- {line.strip()}" for line in closing), ""]))
    _write(written.results, cells.write_csv())
    return written


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def _write(path: Path, text: str) -> Path:
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path


def _filtered(collected: Collected, filters: dict[str, Sequence[str]]) -> Collected:
    runs = collected.runs
    for option, names in filters.items():
        there = sorted(runs[option].unique()) if len(runs) else []
        unknown = [name for name in names if name not in there]
        if unknown and there:
            raise InputError(
                f"{option}={','.join(unknown)}: no finished run has it; write {option}={_as_option(there)}"
            )
        runs = runs.filter(pl.col(option).is_in(list(names)))
    fits = [filters.get(option) for option in FILTERS]

    def kept(point: tuple[str, ...]) -> bool:
        return all(names is None or name in names for names, name in zip(fits, point, strict=False))

    failed = [failure for failure in collected.failed if kept(failure.point)]
    unfinished = [point for point in collected.unfinished if kept(point)]
    return replace(collected, runs=runs, failed=failed, unfinished=unfinished)


def _as_option(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"[{','.join(names)}]"


def _nothing(outputs_dir: Path, collected: Collected) -> str:
    failed = f" ({len(collected.failed)} failed: {_failure_line(collected.failed[0])})" if collected.failed else ""
    foreign = f" (left out: {collected.problems[0]})" if collected.problems else ""
    return f"outputs_dir={outputs_dir} holds no finished run{failed}{foreign}; train some: {_TRAIN}"


def _failure_line(failure: Failure) -> str:
    return f"{' '.join(failure.point)}: {failure.reason} ({failure.folder / 'error.json'})"


def _closing(collected: Collected) -> list[str]:
    """Completeness, failures with their reason, and records that were left out."""
    line = f"Runs: {len(collected.runs)} finished, {len(collected.failed)} failed"
    if collected.unfinished:
        line += f", {len(collected.unfinished)} running or cut off (the same command goes on with them)"
    lines = [line]
    lines += [f"  failed: {_failure_line(failure)}" for failure in collected.failed]
    lines += [f"  left out: {problem}" for problem in collected.problems]
    return lines


if __name__ == "__main__":
    main()
