"""The files of a report: each table as Markdown, LaTeX and CSV, all of them as one Markdown file and one page."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from llp.files import write_atomically
from llp.results.page.data import page_data
from llp.results.page.render import render
from llp.results.sections import Report
from llp.results.table import as_markdown, frame_to_csv, to_csv, to_latex, to_markdown


@dataclass(frozen=True)
class ReportFiles:
    """Files that a report has written."""

    page: Path  # index.html: everything, on a page that needs no other file
    markdown: Path  # all tables
    results: Path  # results.csv: one row per dataset, protocol, bag dataset and method
    tables: list[Path] = field(default_factory=list)  # Markdown, LaTeX and CSV files of each
    figures: list[Path] = field(default_factory=list)  # PNG and SVG files of each


def write_files(report: Report, refresh_seconds: int | None) -> ReportFiles:
    """Write a report, whose figures are written already, to `<outputs_dir>/report/`."""
    folder = report.outputs_dir / "report"
    files = ReportFiles(folder / "index.html", folder / "report.md", folder / "results.csv")
    parts = ["# Results\n"]
    for section in report.sections:
        parts += [f"{line}\n" for line in (f"## {as_markdown(section.title)}", *map(as_markdown, section.findings))]
        for name, path in section.figures.items():
            parts.append(f"![{as_markdown(section.title)}: {name}]({quote(str(path.relative_to(folder)))})\n")
            files.figures.extend([path, path.with_suffix(".svg")])
        for name, table in section.tables.items():
            parts.append(to_markdown(table))
            for ending, write in (("md", to_markdown), ("tex", to_latex), ("csv", to_csv)):
                files.tables.append(_write(folder / "tables" / f"{section.name}_{name}.{ending}", write(table)))
    _write(files.markdown, "\n".join([*parts, "## Runs\n", *(f"- {as_markdown(line)}" for line in report.closing), ""]))
    _write(files.results, frame_to_csv(report.cells.drop("cell", "compared", "upwards", "place")))
    _write(files.page, render(report, page_data(report), refresh_seconds))
    return files


def _write(path: Path, text: str) -> Path:
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path
