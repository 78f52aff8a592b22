"""The figures of the result pages: `python -m llp.bench.result_figures` draws them from the committed records.

`docs/images/study` shows what the number of bags does, a panel per bag size; `docs/images/noise` what noise on the sums
of the bags costs. Each line is a method's mean over folds and seeds, each bar a sample standard deviation.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from llp.analysis.drawing import STYLE, log_scale, look, new_figure, save_figure
from llp.bench.results import DOCS, files_of, read
from llp.runs.record import RunRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Line = Mapping[float, Sequence[float]]
"""Test metrics of a method's runs, by the place on the x axis."""


def lines_of(records: Sequence[RunRecord], x: Callable[[RunRecord], float | None]) -> Mapping[str, Line]:
    """The lines of the methods on bags, by name, without the runs that have no place on the x axis."""
    lines: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=lambda record: record.method):
        place, value = x(record), record.metric.best
        if place is not None and value is not None and not record.instance_labels:
            lines[record.method][place].append(value)
    return lines


def draw_study(records: Sequence[RunRecord]) -> "Figure":
    """Draw test AUC against the number of train bags, a panel for each bag size."""
    bags: dict[tuple[object, int | None], list[int]] = defaultdict(list)
    for record in records:
        bags[_rows(record), record.bag_size].append(record.n_train_bags)  # folds differ by a few
    sizes = sorted({size for _, size in bags if size is not None})
    figure = new_figure(3.2 * len(sizes) + 1.4, 3.6)
    panels = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
    for axes, size in zip(panels, sizes, strict=True):
        own = [record for record in records if record.bag_size == size]
        _draw(axes, lines_of(own, lambda record: statistics.median(bags[_rows(record), record.bag_size])))
        axes.set(title=f"bags of {size}", xlabel="train bags")
    panels[0].set_ylabel("test AUC, higher is better")
    _name_lines(figure, panels[0])
    return figure


def _rows(record: RunRecord) -> object:
    dataset = record.config["dataset"]
    assert isinstance(dataset, dict)
    return dataset["rows"]


def draw_noise(records: Sequence[RunRecord]) -> "Figure":
    """Draw test AUC against the ε of the noise on the bags' sums; dotted, without noise."""
    figure = new_figure(6.4, 3.8)
    axes = figure.subplots()
    _draw(axes, lines_of(records, epsilon))
    for place, line in enumerate(lines_of(records, lambda record: 0.0 if epsilon(record) is None else None).values()):
        axes.axhline(statistics.mean(line[0.0]), c=look(place)["c"], ls=":", lw=1)
    axes.set(xlabel="ε of the noise on each bag's sum; dotted: without noise", ylabel="test AUC, higher is better")
    _name_lines(figure, axes)
    return figure


def epsilon(record: RunRecord) -> float | None:
    """The ε of a run's noise; None of a run without."""
    noise = record.config.get("noise")
    return float(str(noise["epsilon"])) if isinstance(noise, dict) else None


def _draw(axes: "Axes", lines: Mapping[str, Line]) -> None:
    for place, (method, line) in enumerate(lines.items()):
        xs = sorted(line)
        means = [statistics.mean(line[x]) for x in xs]
        spread = [statistics.stdev(line[x]) if len(line[x]) > 1 else 0.0 for x in xs]
        axes.errorbar(xs, means, spread, ms=4, lw=1.2, elinewidth=0.8, label=method, **look(place))
    log_scale(axes)


def _name_lines(figure: "Figure", axes: "Axes") -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8)


FIGURES = {"study": draw_study, "noise": draw_noise}


def main() -> None:
    """Draw the figures whose records are there."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        for name, draw in FIGURES.items():
            if files := files_of(name):
                save_figure(draw([record for path in files for record in read(path)]), DOCS / "images" / name)


if __name__ == "__main__":
    main()
