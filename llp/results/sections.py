"""The sections of a report: per dataset and protocol its tables, and its figures as files."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from llp.analysis.drawing import STYLE, save_figure
from llp.analysis.matrix import read_matrices
from llp.files import folder_name
from llp.results import contents
from llp.results.bag_measures import analysis_path, read_analysis
from llp.results.collect import Collected
from llp.results.differences import differing_settings, only_here
from llp.results.findings import findings
from llp.results.formats import heading
from llp.results.table import Table
from llp.results.tables.completeness import Progress, progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Choice:
    """Names of the tables and figures to make, and of the keys whose matrices are drawn; None draws all."""

    tables: Collection[str] = contents.TABLES
    figures: Collection[str] = contents.FIGURES
    grouping_keys: Collection[str] | None = None


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    name : str
        Start of its files' names.
    title : str
        One line.
    subject : str
        What the titles of its tables begin with.
    findings : list of str
        What its scores say, in sentences; the first says which method wins where.
    tables : dict
        Name to table.
    figures : dict
        Name to the PNG file; the SVG file lies beside it.
    """

    name: str
    title: str
    subject: str
    findings: list[str] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Path] = field(default_factory=dict)

    def short_title(self, table: Table) -> str:
        """A table's title under the section's own."""
        rest = table.title.removeprefix(self.subject).lstrip(":, ")
        return rest[:1].upper() + rest[1:] or "Scores"


@dataclass(frozen=True)
class Report:
    """The sections of a report, what became of each dataset's grid, and what was not there to make more of it."""

    sections: list[Section]
    grids: list[Progress]
    missing: list[str]


def make_report(
    outputs_dir: Path,
    datasets: Collection[str],
    collected: Collected,
    named_runs: pl.DataFrame,
    cells: pl.DataFrame,
    *,
    choice: Choice,
) -> Report:
    """Make all tables and figures.

    Parameters
    ----------
    outputs_dir : Path
        Figures go to `report/figures` below it.
    datasets : collection of str
        The datasets to report on, in order.
    collected : Collected
        What the outputs folder holds.
    named_runs, cells : pl.DataFrame
        See `llp.results.variants.name_variants`, `llp.results.summary.summarize`.
    choice : Choice
        What to make.
    """
    sections, grids, missing, folder = [], [], [], outputs_dir / "report" / "figures"
    for dataset in datasets:
        analysis, problem = read_analysis(analysis_path(outputs_dir, dataset))
        if problem:
            missing.append(problem)
        own = cells.filter(pl.col("dataset") == dataset)
        grids.append(progress(collected, dataset))
        matrices, unusable = read_matrices(analysis_path(outputs_dir, dataset).parent)
        missing.extend(unusable)
        chosen = {
            key: one for key, one in matrices.items() if choice.grouping_keys is None or key in choice.grouping_keys
        }
        part = contents.Dataset(dataset, own if len(own) else None, analysis, grids[-1], chosen)
        for scores in _parts(own, named_runs, analysis):
            title, kinds = heading(scores.cells), (contents.SCORE_TABLES, contents.SCORE_FIGURES)
            section = Section(_name(scores), title, subject=title)
            _fill(section, scores, *kinds, choice, folder)
            differences = differing_settings(scores.cells, collected.configs)
            section.findings.extend([*findings(scores.cells), *differences, *only_here(scores.cells, own)])
            for table in section.tables.values():
                table.notes.extend(differences)
            sections.append(section)
        title = f"{dataset}: bag datasets and completeness"
        all_kinds = (contents.DATASET_TABLES, contents.DATASET_FIGURES)
        section = Section(folder_name(dataset), title, subject=f"{dataset}:")
        _fill(section, part, *all_kinds, choice, folder)
        sections.append(section)
    return Report([section for section in sections if section.tables or section.figures], grids, missing)


def _parts(cells: pl.DataFrame, runs: pl.DataFrame, analysis: pl.DataFrame | None) -> Iterator[contents.Scores]:
    point = ("dataset", "protocol", "metric")
    for part in cells.partition_by(*point, maintain_order=True):
        own = runs.filter(pl.all_horizontal(pl.col(name) == part[name][0] for name in point))
        yield contents.Scores(part, own, analysis)


def _name(part: contents.Scores) -> str:
    return folder_name("_".join(str(part.cells[name][0]) for name in ("dataset", "protocol", "metric")))


Part = TypeVar("Part")


def _fill(
    section: Section,
    part: Part,
    tables: Mapping[str, Callable[[Part], Table | None]],
    figures: Mapping[str, tuple[str, Callable[[Part], "Figure | None"]]],
    choice: Choice,
    folder: Path,
) -> None:
    import matplotlib as mpl

    for kind, make in tables.items():
        if kind in choice.tables and (table := make(part)) is not None:
            section.tables[kind] = table
    with mpl.rc_context(STYLE):
        for kind, (_, draw) in figures.items():
            if kind in choice.figures and (figure := draw(part)) is not None:
                section.figures[kind] = save_figure(figure, folder / f"{section.name}_{kind}")[0]
