"""The report as one run of Weights & Biases: tables, figures, the page, and all files as an artifact."""

import csv
import logging
from pathlib import Path

from llp.config.schema import WandBProject
from llp.results.output import ReportFiles
from llp.runs.tracking import open_run

log = logging.getLogger(__name__)


def log_report(project: WandBProject, files: ReportFiles) -> None:
    """Log a report that has been written; InputError where W&B refuses the run."""
    import wandb

    folder = files.page.parent
    with open_run(project, folder, name="report", job_type="report", tags=["report"]) as run:
        shown = {f"tables/{path.stem}": _table(path) for path in files.tables if path.suffix == ".csv"}
        shown |= {f"figures/{path.stem}": wandb.Image(str(path)) for path in files.figures if path.suffix == ".png"}
        run.log({**shown, "page": wandb.Html(files.page.read_text(encoding="utf-8"), inject=False)})
        artifact = wandb.Artifact("report", type="report")
        for path in (files.page, files.markdown, files.results, *files.tables, *files.figures):
            artifact.add_file(str(path), name=str(path.relative_to(folder)))
        run.log_artifact(artifact)
    log.info("logged to W&B: %d tables and figures, the page, and the files as artifact report", len(shown))


def _table(path: Path) -> "wandb.Table":  # type: ignore[name-defined]  # noqa: F821
    import wandb

    with path.open(newline="", encoding="utf-8") as file:
        columns, *rows = csv.reader(file)
    titles: list[str | int] = [
        title if columns.index(title) == i else f"{title} ({i})" for i, title in enumerate(columns)
    ]
    return wandb.Table(columns=titles, data=rows)
