"""A workspace of Weights & Biases for the runs of a grid: scores by method, curves, settings against scores."""

from typing import Any

from llp.results.formats import METRIC_TITLES

_POINT = ("dataset.name", "grouping_key.kind", "method.name", "model.name", "protocol.name", "fold", "seed")
_SETTINGS = ("dataset.name", "grouping_key.kind", "method.name", "model.name", "optimizer.lr")


def build_workspace(entity: str, project: str, name: str) -> Any:
    """A `Workspace` with bars, curves and parallel coordinates of a grid's cells; nothing is sent anywhere."""
    import wandb_workspaces.reports.v2.interface as panels
    import wandb_workspaces.workspaces as workspaces

    spread: dict[str, Any] = {"groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"}
    cell = panels.Metric("Group")
    groups: dict[str, Any] = {
        "dataset, key and method": cell,
        "method over all bag datasets": panels.Config("method.name"),
    }
    bars: list[Any] = [
        panels.BarPlot(
            title=f"Test {title} at the chosen epoch, by {which}",
            metrics=[panels.SummaryMetric(f"measures.{metric}")],
            orientation="h", title_x=title, groupby=group, **spread,
        )
        for metric, title in METRIC_TITLES.items()
        for which, group in groups.items()
    ]  # fmt: skip
    curves: list[Any] = [
        panels.LinePlot(title=title, x="epoch", y=[y], title_x="epoch", groupby=cell, **spread)
        for y, title in (
            *((f"test_{metric}", f"Test {title} by epoch") for metric, title in METRIC_TITLES.items()),
            ("train_loss", "Training loss by epoch"),
            ("held_out_loss", "Loss on held-out bags by epoch"),
        )
    ]
    settings: list[Any] = [panels.Config(path) for path in _SETTINGS]
    measures = [panels.SummaryMetric(f"measures.{metric}") for metric in METRIC_TITLES]
    parallel = panels.ParallelCoordinatesPlot(
        title="Settings and scores",
        columns=[panels.ParallelCoordinatesPlotColumn(one) for one in (*settings, *measures)],
    )
    table = workspaces.RunsetSettings(
        filters=[workspaces.Metric("JobType") == "train"],
        groupby=[workspaces.Config("dataset.name"), workspaces.Metric("Group")],
        pinned_columns=[*map(_config_column, _POINT), *(f"summary:measures.{metric}" for metric in METRIC_TITLES)],
    )
    sections = [
        workspaces.Section(name="Scores", panels=bars, is_open=True),
        workspaces.Section(name="Curves", panels=curves, is_open=True),
        workspaces.Section(name="Settings", panels=[parallel], is_open=True),
    ]
    return workspaces.Workspace(entity=entity, project=project, name=name, sections=sections, runset_settings=table)


def _config_column(path: str) -> str:
    """A setting's column of the run table: W&B puts `value` after the first part of its path."""
    first, *rest = path.split(".")
    return "config:" + ".".join([first, "value", *rest])


def spec_of(workspace: Any) -> dict[str, Any]:
    """The workspace as W&B stores it: plain JSON values."""
    spec: dict[str, Any] = workspace._to_model().model_dump(mode="json", by_alias=True, exclude_none=True)
    return spec
