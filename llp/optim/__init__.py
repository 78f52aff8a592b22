"""Exact Adam for tables of which a minibatch touches few rows."""
