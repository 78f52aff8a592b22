"""One file per learning method."""
