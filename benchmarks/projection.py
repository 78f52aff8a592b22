"""What the whole benchmark takes at measured rates.

Every run is taken to read the whole table, 80 % for training: the most that a bag dataset can hold. A first stage is a
run of the grid itself (`dllp_bce`, `dllp_mse`), so it costs nothing more. An epoch ends with an evaluation, and a run
begins and ends with one.
"""

from dataclasses import dataclass

from benchmarks.measuring import Measured

FOLDS = 5
TRAIN_SHARE = 0.8
EPOCHS_OF_EARLY_STOPPING = 5
"""What early stopping took on flights, in the median over methods and folds."""
MOST_EPOCHS = 50


@dataclass(frozen=True)
class Grid:
    """Runs on one table: bag datasets × methods × folds."""

    name: str
    rows: int
    bag_datasets: int
    methods: int

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.bag_datasets * self.methods * FOLDS


MAIN = (Grid("CTR", 45_840_617, 52 + 4, 9), Grid("SSCL", 1_732_721, 10 + 4, 4))
FIXED_SIZE = (Grid("CTR, fixed-size bags", 45_840_617, 52 * 4, 6),)


@dataclass(frozen=True)
class Rates:
    """Instances a second: in training, all runs of a device together, and in evaluation."""

    training: float
    evaluation: float


def hours(grid: Grid, epochs: int, rates: Rates) -> float:
    """Hours of one device for all runs of a grid.

    >>> hours(Grid("", rows=1000, bag_datasets=9, methods=8), epochs=2, rates=Rates(training=800, evaluation=200))
    0.6
    """
    train_rows = TRAIN_SHARE * grid.rows
    seconds = epochs * train_rows / rates.training + (epochs + 2) * (grid.rows - train_rows) / rates.evaluation
    return grid.runs * seconds / 3600


def project(rates: Rates, bar: str | None = None) -> list[Measured]:
    """Hours of the main tables and of the fixed-size runs, at the epochs of early stopping and at the most."""
    lines = []
    for what, grids in (("main tables", MAIN), ("fixed-size bags", FIXED_SIZE)):
        runs = sum(grid.runs for grid in grids)
        for epochs in (EPOCHS_OF_EARLY_STOPPING, MOST_EPOCHS):
            total = sum(hours(grid, epochs, rates) for grid in grids)
            held = bar if what == "main tables" and epochs == EPOCHS_OF_EARLY_STOPPING else None
            lines.append(Measured(f"projected: {what}, {runs:,} runs of {epochs} epochs", total, "hours", held))
    return lines
