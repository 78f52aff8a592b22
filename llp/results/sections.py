"""The sections of a report: per dataset and protocol its tables, and its figures as files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from llp.analysis.drawing import save_figures
from llp.analysis.matrix import read_matrices
from llp.config.commands import ReportConfig
from llp.files import folder_name
from llp.results import contents
from llp.results.bag_measures import analysis_path, read_analysis
from llp.results.collect import Collected, Config
from llp.results.formats import BAG_KINDS, heading, measured_title
from llp.results.learnt import learnt
from llp.results.summary import summarize
from llp.results.table import Table
from llp.results.tables.completeness import Progress, progress
from llp.results.tables.significance import ranking
from llp.results.variants import differing_settings, name_variants

if TYPE_CHECKING:  # matplotlib takes a second to import
    from matplotlib.figure import Figure

_SECTION = ("dataset", "protocol", "metric")


@dataclass(frozen=True)
class Section:
    """A section of the report."""

    name: str  # start of its files' names
    title: str
    subject: str  # the titles of its tables begin with it
    learnt: str = ""  # the sentence that the page opens with
    findings: list[str] = field(default_factory=list)  # sentences; the first says which method wins where
    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Path] = field(default_factory=dict)  # name to the PNG file; the SVG file lies beside it

    def short_title(self, table: Table) -> str:
        """A table's title under the section's own."""
        rest = table.title.removeprefix(self.subject).lstrip(":, ")
        return rest[:1].upper() + rest[1:] or "Scores"


@dataclass(frozen=True)
class Report:
    """A report: what it shows, and what it is made of."""

    outputs_dir: Path
    runs: pl.DataFrame  # see `llp.results.variants.name_variants`
    cells: pl.DataFrame  # see `llp.results.summary.summarize`
    configs: Sequence[Config]  # see `llp.results.collect.Collected`
    sections: list[Section] = field(default_factory=list)
    grids: list[Progress] = field(default_factory=list)  # one of each dataset
    closing: list[str] = field(default_factory=list)  # completeness; then failures, what was left out or is missing


def make_report(config: ReportConfig, datasets: Collection[str], collected: Collected) -> Report:
    """Make all tables, and all figures as files of `report/figures`, of the datasets in their order."""
    runs = name_variants(collected)
    report = Report(config.outputs_dir, runs, summarize(runs), collected.configs)
    for dataset in datasets:
        path = analysis_path(config.outputs_dir, dataset)
        analysis, problem = read_analysis(path)
        matrices, unusable = read_matrices(path.parent)
        report.closing.extend(f"  missing: {line}" for line in (problem, *unusable) if line)
        report.grids.append(progress(collected, dataset))
        own = report.cells.filter(pl.col("dataset") == dataset)
        for scores in _parts(own, runs, analysis):
            title, point = heading(scores.cells), [scores.cells[name][0] for name in _SECTION]
            section = Section(
                folder_name("_".join(map(str, point))), title, title, learnt(scores.cells, collected.configs)
            )
            _fill(section, scores, contents.SCORE_TABLES, contents.SCORE_FIGURES, config)
            differences = differing_settings(scores.cells, collected.configs)
            section.findings.extend(findings(scores.cells, own, differences))
            for table in section.tables.values():
                table.notes.extend(differences)
            report.sections.append(section)
        drawn = {key: one for key, one in matrices.items() if config.grouping_key is None or key in config.grouping_key}
        part = contents.Dataset(dataset, own, analysis, report.grids[-1], drawn)
        section = Section(folder_name(dataset), f"{dataset}: bag datasets and completeness", subject=f"{dataset}:")
        _fill(section, part, contents.DATASET_TABLES, contents.DATASET_FIGURES, config)
        report.sections.append(section)
    sections = [section for section in report.sections if section.tables or section.figures]
    return replace(report, sections=sections)


def _parts(cells: pl.DataFrame, runs: pl.DataFrame, analysis: pl.DataFrame | None) -> Iterator[contents.Scores]:
    for part in cells.partition_by(_SECTION, maintain_order=True):
        own = runs.filter(pl.all_horizontal(pl.col(name) == part[name][0] for name in _SECTION))
        yield contents.Scores(part, own, analysis)


Part = TypeVar("Part")


def _fill(
    section: Section,
    part: Part,
    tables: Mapping[str, Callable[[Part], Table | None]],
    figures: Mapping[str, tuple[str, Callable[[Part], "Figure | None"]]],
    config: ReportConfig,
) -> None:
    folder = config.outputs_dir / "report" / "figures"
    for kind, make in tables.items():
        if (config.tables is None or kind in config.tables) and (table := make(part)) is not None:
            section.tables[kind] = table
    wanted = [kind for kind in figures if config.figures is None or kind in config.figures]
    saved = save_figures({f"{section.name}_{kind}": partial(figures[kind][1], part) for kind in wanted}, folder)
    section.figures.update({kind: saved[name] for kind in wanted if (name := f"{section.name}_{kind}") in saved})


PROTOCOLS = {
    "paper": "Protocol paper: the epoch is selected on the test rows, so the scores are optimistic.",
    "holdout": "Protocol holdout: the epoch is selected on bags that are held out of training.",
}


def findings(cells: pl.DataFrame, dataset: pl.DataFrame, differences: Sequence[str] = ()) -> list[str]:
    """Sentences on the cells of one protocol and metric of a dataset; the first says which method wins where."""
    said = [sentence for kind in BAG_KINDS if (sentence := _winners(cells.filter(pl.col("bag_kind") == kind), kind))]
    if not said:
        said = ["No bag dataset has two methods on bags with as many runs, so nothing can be compared yet."]
    ranks = _ranks(cells)
    protocol = str(cells["protocol"][0])
    return [
        *said,
        *([ranks] if ranks else []),
        PROTOCOLS.get(protocol, f"Protocol {protocol}."),
        *differences,
        *_only_here(cells, dataset),
    ]


def _winners(cells: pl.DataFrame, kind: str) -> str | None:
    won = cells.filter("best")
    if not len(won):
        return None
    n_rows = won["row"].n_unique()
    counts = won["column"].value_counts(sort=True)
    first, *others = counts.iter_rows()
    also = ", ".join(f"{name} on {n}" for name, n in others[:3])
    where = f"{n_rows} dataset{'s' if n_rows > 1 else ''} of {BAG_KINDS[kind]}"
    return f"{first[0]} has the best {measured_title(cells)} on {first[1]} of {where}{'; ' + also if also else ''}."


def _ranks(cells: pl.DataFrame) -> str | None:
    found = ranking(cells)
    if found is None:
        return None
    best, *rest = found.mean
    alike = [name for rank, name in zip(rest, found.methods[1:], strict=True) if rank - best < found.limit]
    apart = f"not told apart from it: {', '.join(alike)}" if alike else "all others are told apart from it"
    over = f"over {len(found.scores)} bag datasets; at the 5 % level {apart}."
    return f"{found.methods[0]} has the best mean rank, {best:.2f} {over}"


def _only_here(cells: pl.DataFrame, dataset: pl.DataFrame) -> list[str]:
    """A sentence on methods that other protocols of the dataset lack, and on those that only the others have."""
    protocol, metric = cells["protocol"][0], cells["metric"][0]
    others = dataset.filter((pl.col("protocol") != protocol) & (pl.col("metric") == metric))
    here, there = set(cells["method"]), set(others["method"])
    if not there or here == there:
        return []
    said = [f"only under protocol {protocol}: {', '.join(sorted(here - there))}"] if here - there else []
    if there - here:
        names = ", ".join(sorted(set(others.filter(pl.col("method").is_in(list(there - here)))["protocol"])))
        said.append(f"only under {names}: {', '.join(sorted(there - here))}")
    return [f"Methods cannot be compared across protocols: {'; '.join(said)}."]
