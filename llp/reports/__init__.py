"""Learning from reports: label sums over the cells of several, overlapping histograms of the same instances."""
