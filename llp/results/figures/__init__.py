"""One module per kind of figure; each figure is a function of data frames."""
