"""The figures of the result pages: `python -m benchmarks.result_figures` draws them from the committed records.

`docs/images/study` shows what the number of bags does, a panel per bag size; `docs/images/noise` what noise on the sums
of the bags costs; `docs/images/budget` on what an ε is best spent, a panel per table. Each line is a method's mean over
folds and seeds, each bar a sample standard deviation.
"""

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from benchmarks.records import DOCS, files_of, read
from benchmarks.result_grids import bags_of_rows, epsilon, lines_of, named_of, on_bags
from llp.analysis.drawing import STYLE, log_scale, look, name_lines, new_figure, save_figure
from llp.errors import InputError
from llp.runs.record import RunRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_study(records: Sequence[RunRecord]) -> "Figure":
    """Draw test AUC against the number of train bags, a panel for each bag size."""
    bags = bags_of_rows(records)
    sizes = sorted({record.bag_size for record in records if record.bag_size is not None})
    figure, places = new_figure(3.2 * len(sizes) + 1.4, 3.6), _places(records)
    panels = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
    for axes, size in zip(panels, sizes, strict=True):
        _draw(axes, lines_of([record for record in on_bags(records) if record.bag_size == size], bags), places)
        axes.set(title=f"bags of {size}", xlabel="train bags")
    panels[0].set_ylabel("test AUC, higher is better")
    name_lines(figure)
    return figure


def draw_noise(records: Sequence[RunRecord]) -> "Figure":
    """Draw test AUC against ε, by what it is spent on; dotted, without noise.

    A cross is on a report where flips of the labels are predicted to do better: where most places of its rows are in
    cells whose sums hold more noise than flips would leave (`quieter` of `llp.data.noise.Promise`).
    """
    datasets = sorted({record.dataset for record in records})
    figure, name = new_figure(3.6 * len(datasets) + 2.8, 3.8), named_of(records)
    places = _places(records, name)
    panels = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axes, dataset in zip(panels, datasets, strict=True):
        _draw_noise(axes, [record for record in records if record.dataset == dataset], name, places)
        if len(datasets) > 1:
            axes.set_title(dataset)
    panels[0].set_ylabel("test AUC, higher is better")
    name_lines(figure)
    return figure


def _draw_noise(
    axes: "Axes", records: Sequence[RunRecord], name: Callable[[RunRecord], str], places: Mapping[str, int]
) -> None:
    shown = on_bags(records)
    lines = lines_of(shown, epsilon, name)
    _draw(axes, lines, places)
    quieter = lines_of([one for one in shown if one.bag_kind == "report"], epsilon, name, attrgetter("noise.quieter"))
    for title, shares in quieter.items():
        xs = [x for x in shares if statistics.mean(shares[x]) < 0.5]
        axes.plot(xs, [statistics.mean(lines[title][x]) for x in xs], "kx", ms=7)
    without = lines_of([record for record in shown if epsilon(record) is None], lambda _: 0.0, name)
    for method, line in without.items():
        axes.axhline(statistics.mean(line[0.0]), c=look(places[method])["c"], ls=":", lw=1)
    told = ["ε of all sums together", *(["dotted: without noise"] if without else [])]
    told += ["×: flips predicted to do better"] if quieter else []
    axes.set_xlabel("\n".join(told))


def _places(records: Sequence[RunRecord], name: Callable[[RunRecord], str] = attrgetter("method")) -> dict[str, int]:
    """The place of each line among those of the figure, which its colour follows."""
    return {line: place for place, line in enumerate(sorted({*map(name, on_bags(records))}))}


def _draw(axes: "Axes", lines: Mapping[str, Mapping[float, Sequence[float]]], places: Mapping[str, int]) -> None:
    for method, line in lines.items():
        xs = sorted(line)
        means = [statistics.mean(line[x]) for x in xs]
        spread = [statistics.stdev(line[x]) if len(line[x]) > 1 else 0.0 for x in xs]
        axes.errorbar(xs, means, spread, ms=4, lw=1.2, elinewidth=0.8, label=method, **look(places[method]))
    log_scale(axes)


FIGURES = {"study": draw_study, "noise": draw_noise, "budget": draw_noise}


def main() -> None:
    """Draw the figures whose records are there."""
    import matplotlib as mpl

    try:
        with mpl.rc_context(STYLE):
            for name, draw in FIGURES.items():
                if files := files_of(name):
                    save_figure(draw([record for path in files for record in read(path)]), DOCS / "images" / name)
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
