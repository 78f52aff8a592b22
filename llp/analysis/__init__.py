"""Measures of bag datasets: sizes, label proportions, hardness, separations and clusters."""
