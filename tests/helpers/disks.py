"""Small and read-only disks, where the machine lets us mount one."""

import os
import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def mounted(place, options):
    """A disk of memory at a place; without the right to mount one the test is skipped."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)
