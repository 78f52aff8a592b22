"""Learning from label proportions on tabular data: data, bags, methods, grids, reports."""

__version__ = "0.1.0"
