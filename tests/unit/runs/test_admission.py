"""Runs side by side are admitted while their models and tables fit into the memory."""

import threading
import time

import pytest
from omegaconf import OmegaConf

from llp.config.grouping_keys import options
from llp.runs import admission, thread_pool
from llp.runs.admission import COPIES, Need, Room, model_bytes, need_of
from llp.runs.build import build_method, open_table
from llp.runs.thread_pool import Pool

WAIT_S = 0.2


def takes(room, need):
    """Start taking room in a thread; says whether it was given at once."""
    thread = threading.Thread(target=room.take, args=(need,), daemon=True)
    thread.start()
    thread.join(WAIT_S)
    return thread, not thread.is_alive()


@pytest.mark.parametrize(
    ("under_way", "need", "fits"),
    [
        ([], Need(200), True),  # alone: it may fail, but not wait for ever
        ([Need(60)], Need(40), True),
        ([Need(60)], Need(41), False),
        ([Need(30, 30, "a")], Need(40, 30, "a"), True),  # the table once
        ([Need(30, 30, "a")], Need(40, 30, "b"), False),
        ([Need(30), Need(30)], Need(41), False),
    ],
)
def test_run_waits_for_room_until_another_one_ends(under_way, need, fits, caplog):
    room = Room(100)
    for one in under_way:
        assert takes(room, one)[1]
    thread, given = takes(room, need)
    assert given is fits
    assert ("it waits until one ends" in caplog.text) is not fits
    for one in under_way:
        room.give_back(one)
    thread.join(5)
    assert not thread.is_alive()


def test_a_signal_ends_the_waiting(monkeypatch):
    room = Room(1)
    room.take(Need(1))
    monkeypatch.setattr(admission.signals, "received", lambda: 15)
    assert takes(room, Need(1))[1]


@pytest.mark.parametrize("model", options("model"))
@pytest.mark.parametrize("overrides", [(), ("dataset=synthetic_sscl",)], ids=["codes", "codes and numbers"])
def test_size_of_a_model_is_known_without_making_it(tiny, model, overrides):
    config = tiny(f"model={model}", *overrides, *(("method=dllp_mse",) if overrides else ()))
    table = open_table(config)
    weights = build_method(config, table).parameters()
    there = sum(weight.nbytes for weight in weights)
    assert model_bytes(config, table, build_method) == pytest.approx(there, rel=1e-3)
    assert need_of(config).model == COPIES * model_bytes(config, table, build_method)


def test_run_that_cannot_be_built_is_admitted_and_tells_why_itself(tiny):
    config = tiny()
    config.dataset.table = "gone"
    config.dataset.embedded = False
    assert need_of(config) == Need(0)


def test_pool_says_the_memory_and_admits_what_fits(monkeypatch, caplog):
    """Of three runs that take 40 of 100 bytes two train at a time."""
    monkeypatch.setattr(thread_pool, "need_of", lambda config: Need(40))
    monkeypatch.setattr(thread_pool, "free_for", lambda config: 100)
    at_once, most, lock = [0], [0], threading.Lock()

    def task(config):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(WAIT_S)
        with lock:
            at_once[0] -= 1
        return 1.0

    pool = Pool(3)
    with caplog.at_level("INFO"):
        runs = [pool.submit(task, OmegaConf.create({"hardware": {"accelerator": "cpu"}})) for _ in range(3)]
        pool.wait()
    assert [run.result() for run in runs] == [1.0] * 3
    assert most == [2]
    assert caplog.text.count("runs_at_once=3: 0.0 GB a run for its model and moments, of 0.0 GB free") == 1
