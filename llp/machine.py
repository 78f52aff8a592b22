"""Memory and cores available to this process, by what control groups leave of them (Linux), and how it uses them."""

import atexit
import gc
import os
import sys
from pathlib import Path

_UNBOUNDED = 2**62  # what version 1 of control groups says for no bound is about that


def free_memory(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that are free or could be freed at once, as `proc` and control groups tell; else `sys.maxsize`."""
    found = [_machine(proc)]
    try:
        groups = [line.split(":", 2) for line in (proc / "self" / "cgroup").read_text().splitlines()]
    except OSError:
        groups = []
    for number, controllers, path in groups:
        if number == "0":
            found += _left(cgroup, path, "memory.max", "memory.current", ("inactive_file", "active_file"))
        elif "memory" in controllers.split(","):
            cache = ("total_inactive_file", "total_active_file")
            found += _left(cgroup / "memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", cache)
    return max(0, min(found))


def prefer_speed() -> None:
    """Have OpenMP's threads that wait leave their cores, unless told, and few searches for garbage; before imports."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    gc.set_threshold(10_000)  # the imports make a million objects, all of which stay
    atexit.register(gc.freeze)  # a last search would find what the process leaves anyway


def cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _machine(proc: Path) -> int:
    try:
        fields = dict(line.split(":") for line in (proc / "meminfo").read_text().splitlines())
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return sys.maxsize


def _left(root: Path, path: str, limit: str, usage: str, cache: tuple[str, str]) -> list[int]:
    """Bytes left by the group of this process and by each group that it lies in, where there is a bound."""
    place, left = root / path.strip("/"), []
    for folder in (place, *place.parents):
        try:
            bound = int((folder / limit).read_text())
            used = int((folder / usage).read_text())
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # 'max', or a folder that a container does not show
            continue
        if bound < _UNBOUNDED:
            left.append(bound - used + sum(int(stat.get(name, 0)) for name in cache))
    return left
