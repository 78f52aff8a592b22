"""Measures of scores and of bag datasets."""
