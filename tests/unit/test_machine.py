"""Memory that is left, as Linux tells of it, and how a command uses it."""

import os
import subprocess
import sys

import pytest

from llp.machine import free_memory, prefer_speed

GIB = 2**30
MACHINE = f"MemTotal: 99 kB\nMemAvailable: {8 * GIB // 1024} kB\n"


def tell(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return free_memory(folder / "proc", folder / "cgroup")


def second(path, limit, used, cache):
    return {f"cgroup{path}/memory.max": f"{limit}\n", f"cgroup{path}/memory.current": f"{used}\n",
            f"cgroup{path}/memory.stat": f"anon 1\ninactive_file {cache - 1}\nactive_file 1\n"}  # fmt: skip


def first(path, limit, used, cache):
    return {f"cgroup/memory{path}/memory.limit_in_bytes": f"{limit}\n",
            f"cgroup/memory{path}/memory.usage_in_bytes": f"{used}\n",
            f"cgroup/memory{path}/memory.stat": f"total_inactive_file {cache}\ntotal_active_file 0\n"}  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "files", "left"),
    [
        ("0::/\n", {}, 8 * GIB),
        ("0::/job\n", second("/job", "max", 0, 1), 8 * GIB),
        ("0::/job\n", second("/job", 4 * GIB, 3 * GIB, 2 * GIB), 3 * GIB),
        ("0::/batch/job\n", second("/batch/job", "max", 0, 1) | second("/batch", 2 * GIB, GIB, 1), GIB + 1),
        ("4:memory:/job\n0::/\n", first("/job", 2 * GIB, GIB, 0), GIB),
        ("4:memory:/job\n", first("/job", 9223372036854771712, GIB, 0), 8 * GIB),
        ("4:cpu,memory:/gone\n", first("", GIB, 2 * GIB, 0), 0),
    ],
)
def test_least_of_machine_and_groups_counts(tmp_path, groups, files, left):
    assert tell(tmp_path, {"proc/meminfo": MACHINE, "proc/self/cgroup": groups} | files) == left


def test_nothing_told_is_no_bound(tmp_path):
    assert tell(tmp_path, {}) == sys.maxsize


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells of it")
def test_this_machine_has_some():
    assert 2**26 < free_memory() < 2**50


def test_commands_ask_for_no_huge_pages_of_whatever_torch_allocates(monkeypatch):
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    prefer_speed()
    assert "THP_MEM_ALLOC_ENABLE" not in os.environ


def test_commands_end_without_a_search_for_what_they_leave():
    code = (
        "import gc, sys; from llp.machine import prefer_speed; prefer_speed(); print(gc.get_threshold()[0])\n"
        "class Cycle: __del__ = lambda self: print('found')\n"
        "one = Cycle(); one.itself = one; del one\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "10000\n"
