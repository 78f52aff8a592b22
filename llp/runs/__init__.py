"""A run: its identity, folder, record and trackers."""
