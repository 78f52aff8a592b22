"""The configuration: grouping keys by name, and checks before any work."""
