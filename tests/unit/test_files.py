"""What is read back from a folder is bounded, and what names a folder stays inside it."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llp import files
from llp.errors import InputError
from llp.files import SMALL_FILE, folder_name, is_locked, locked, read_small, read_yaml, write_atomically
from tests.helpers.hostile import BOMB


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Größe (m²)", "Größe (m²)"),
        ("../../c", "%2E.%2F..%2Fc"),
        ("", "%"),
        ("a\\b\x00b\n", "a%5Cb%00b%0A"),
        ("100%", "100%25"),
        ("\udcff", "%ED%B3%BF"),
    ],
)
def test_name_of_a_folder(name, expected):
    assert folder_name(name) == expected
    assert folder_name(name + 300 * "a") != folder_name(name + 301 * "a")


@given(st.lists(st.text(max_size=300), min_size=2, max_size=6, unique=True))
def test_any_name_is_one_visible_component_of_its_own(names):
    made = [folder_name(name) for name in names]
    assert len(set(made)) == len(names)
    for name in made:
        assert name
        assert not name.startswith(".")
        assert "/" not in name
        assert "\x00" not in name
        assert len(name.encode()) < 200


def test_small_files(tmp_path):
    path = tmp_path / "result.json"
    path.write_bytes(b"{}")
    assert read_small(path) == b"{}"
    with path.open("wb") as file:
        file.truncate(SMALL_FILE + 1)
    with pytest.raises(OSError, match="File too large"):
        read_small(path)
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")  # is not waited for
    for other in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="Not a regular file"):
            read_small(other)


@pytest.mark.parametrize(
    "text",
    [BOMB, "a: &a [*a]", "[" * 5000 + "]" * 5000, "a: " * 2, "\x00", "a: [", "!!python/object/apply:os.system [x]"],
    ids=["bomb", "recursive", "deep", "wrong", "binary", "cut", "object"],
)
def test_yaml_that_is_no_configuration_of_ours_is_refused_at_once(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    begin = time.monotonic()
    with pytest.raises(ValueError, match=r"config\.yaml"):
        read_yaml(path)
    assert time.monotonic() - begin < 5


FULL = """
import resource, sys, torch, polars as pl
from pathlib import Path
from llp.files import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # as a disk that is full
path = Path(sys.argv[1])
path.write_text("before")
for write in (
    lambda temporary: torch.save(torch.zeros(1_000_000), temporary),
    pl.DataFrame({"a": range(1_000_000)}).write_parquet,
    lambda temporary: temporary.write_text("x" * 1_000_000),
    lambda temporary: 1 / 0,
):
    try:
        write_atomically(path, write)
    except OSError as error:
        print(error)
    except ZeroDivisionError:
        print("own")
"""


def test_file_that_cannot_be_written_to_its_end_is_named(tmp_path):
    path = tmp_path / "best.pt"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == 3 * f"[Errno 27] File too large: '{path}'\n" + "own\n"
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_raised_does_not_keep_the_room_of_a_file_that_was_not_written(tmp_path):
    def write(temporary):
        held = temporary.open("wb")
        held.write(bytes(2**20))
        held.flush()
        raise RuntimeError(held)  # as torch's does, which keeps the file open

    with pytest.raises(RuntimeError) as error:
        write_atomically(tmp_path / "best.pt", write)
    held = error.value.args[0]
    assert os.fstat(held.fileno()).st_size == 0
    held.close()


def test_link_in_the_place_of_a_temporary_file_is_not_written_through(tmp_path, monkeypatch):
    """Whatever name is foreseen: here the very one that is drawn."""
    other, path = tmp_path / "other", tmp_path / "s.csv"
    other.write_text("mine")
    monkeypatch.setattr("llp.files.secrets.token_hex", lambda n: "0" * 2 * n)
    (tmp_path / f".s.{'0' * 16}.llp-part.csv").symlink_to(other)
    with pytest.raises(OSError, match=rf"^\[Errno 17\] File exists: '{path}'$"):
        write_atomically(path, lambda temporary: temporary.write_text("x"))
    assert other.read_text() == "mine"


def test_a_folder_in_the_place_of_a_file_is_named_and_nothing_stays_beside_it(tmp_path):
    (tmp_path / "spec.json").mkdir()
    with pytest.raises(IsADirectoryError, match=rf"^\[Errno 21\] Is a directory: '{tmp_path}/spec.json'$"):
        write_atomically(tmp_path / "spec.json", lambda temporary: temporary.write_text("x"))
    assert [path.name for path in tmp_path.iterdir()] == ["spec.json"]


def test_no_two_temporary_files_have_one_name_and_the_file_has_the_usual_mode(tmp_path):
    path, names = tmp_path / ("long" * 62 + ".csv"), set()
    for _ in range(2):
        write_atomically(path, lambda temporary: names.add(temporary.name) or temporary.write_text("x"))
    (plain := tmp_path / "plain").write_text("x")
    assert len(names) == 2
    assert {name[-4:] for name in names} == {".csv"}
    assert path.stat().st_mode == plain.stat().st_mode


def test_what_polars_says_in_words_has_its_number(tmp_path):
    def write(temporary):
        raise OSError("No such file or directory (os error 2): /proc/x")

    with pytest.raises(OSError, match=r"^\[Errno 2\] No such file or directory: '.*scores.csv'$"):
        write_atomically(tmp_path / "scores.csv", write)


HOLDER = """
import socket, sys, time
socket.gethostname = lambda: sys.argv[2]
from llp import files
from pathlib import Path
files.LEASE_SECONDS = 1.0
with files.locked(Path(sys.argv[1]), "busy"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.stops
@pytest.mark.parametrize(("kind", "machine"), [("flock", "here"), ("lease", "here"), ("lease", "elsewhere")])
def test_lock_of_a_killed_process_is_free_again(tmp_path, monkeypatch, kind, machine):
    monkeypatch.setenv("LLP_LOCKS", kind)
    monkeypatch.setattr(files, "LEASE_SECONDS", 1.0)
    path = tmp_path / ".lock"
    assert not is_locked(path)
    host = machine if machine == "elsewhere" else socket.gethostname()
    with subprocess.Popen([sys.executable, "-c", HOLDER, path, host], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        time.sleep(2)  # the holder refreshes its lease
        assert is_locked(path)
        holder.kill()
    begin = time.monotonic()
    with locked(path, "busy"):
        assert time.monotonic() - begin < 10
        assert is_locked(path)
    assert not is_locked(path)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ESTALE, errno.EOPNOTSUPP])
def test_file_system_without_locks_is_told_with_what_to_do(tmp_path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with (
        pytest.raises(OSError, match=rf"\[Errno {number}\] .*; write LLP_LOCKS=lease .*/\.lock'$"),
        locked(tmp_path / ".lock", "busy"),
    ):
        pass


def test_other_kinds_of_locks_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LLP_LOCKS", "nfs")
    with pytest.raises(InputError, match=r"^Invalid LLP_LOCKS='nfs': expected flock or lease, such as LLP_LOCKS=lease"):
        is_locked(tmp_path / ".lock")
