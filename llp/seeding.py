"""Every random draw comes from a generator keyed by what it is for.

The same (seed, fold, purpose, epoch, step) gives the same draw, whatever was drawn before, in whichever process.
"""

import hashlib


def keyed_seed(seed: int, purpose: str, *position: int) -> int:
    """A 63-bit seed for one draw of a purpose ('bag order', 'initial weights', ...).

    `seed` is the run's, or one that is keyed by it and the fold. `position` is its epoch and step,
    or whatever else counts the draws of this purpose.
    """
    digest = hashlib.sha256(repr((seed, purpose, *position)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
