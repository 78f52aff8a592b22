"""One file per learning method."""

SCORES_ONLY = False
"""Set by `llp.predict` before it imports a method: Lightning, which trains them, takes seconds to import."""
