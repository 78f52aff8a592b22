"""Measures of scores."""
