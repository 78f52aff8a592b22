"""Every random draw comes from a generator keyed by what it is for, whatever was drawn before, in whichever process."""

import hashlib


def keyed_seed(seed: int, purpose: str, *position: int) -> int:
    """A 63-bit seed for one draw of a purpose ('bag order', ...), by the run's seed and epoch, step or the like."""
    digest = hashlib.sha256(repr((seed, purpose, *position)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
