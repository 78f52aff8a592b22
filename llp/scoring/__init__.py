"""Scores of new rows by finished runs, and finished runs for use elsewhere."""
