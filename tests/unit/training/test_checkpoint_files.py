"""Checkpoints and kept weights: what is damaged, foreign or malicious is said in a line and not used."""

import random
import re
import tempfile
from pathlib import Path

import pytest
import torch

from llp.errors import InputError
from llp.runs.load import load_model
from llp.training import resume
from tests.helpers.composed import open_table, run_of, run_one
from tests.helpers.cutting import CutOffError, moments
from tests.helpers.hostile import Payload

LONG = ("trainer.max_epochs=4", "trainer.patience=9", "checkpoint_minutes=0")


def cut_off(config):
    """Cut a run off in its third epoch; returns its checkpoint's path."""
    with moments(cut=11), pytest.raises(CutOffError):
        run_one(config)
    return run_of(config).folder / "checkpoints" / "resume.ckpt"


def of_other_shapes(state):
    return {name: w[:-1] if isinstance(w, torch.Tensor) and w.ndim else w for name, w in state.items()}


FOREIGN = {
    "no checkpoint of a run": [
        lambda content: torch.zeros(3),
        lambda content: content["state_dict"],
        lambda content: {name: value for name, value in content.items() if name != "versions"},
    ],
    "of other versions of the packages": [lambda content: content | {"versions": {**resume.VERSIONS, "torch": "1.0"}}],
    "of another model": [
        lambda content: {name: value for name, value in content.items() if name != "optimizer_states"},
        lambda content: content | {"state_dict": of_other_shapes(content["state_dict"])},
    ],
    "no checkpoint (UnpicklingError)": [lambda content: content | {"more": Payload(Path("made by the payload"))}],
}


def test_checkpoint_of_something_else_is_said_in_a_line_and_not_used(tiny, tmp_path, monkeypatch, caplog):
    """Also one that brings code, of which none is run."""
    monkeypatch.chdir(tmp_path)
    path = cut_off(tiny(*LONG))
    content = torch.load(path, weights_only=True)
    assert resume.ResumeFile().open(path, content["state_dict"])
    for problem, kinds in FOREIGN.items():
        for kind in kinds:
            caplog.clear()
            torch.save(kind(content), path)
            assert not resume.ResumeFile().open(path, content["state_dict"])
            assert caplog.messages == [f"{path} is {problem}: training starts from the first epoch"]
    assert not list(tmp_path.glob("made*"))


def test_training_starts_from_the_first_epoch_where_its_checkpoint_is_damaged(tiny, caplog):
    config = tiny(*LONG)
    path = cut_off(config)
    flip(path, path.stat().st_size // 2)
    record = run_one(config)
    assert "resume.ckpt is damaged: training starts from the first epoch" in caplog.text
    assert record.measures == run_one(tiny(*LONG, "force=true")).measures


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def test_flipped_byte_is_found_or_changes_nothing(tiny):
    """In kept weights wherever it is; bytes between the parts of the file mean nothing."""
    config = tiny("save_model=true", "trainer.max_epochs=1")
    run_one(config)
    table, path = open_table(config), run_of(config).folder / "checkpoints" / "best.pt"
    whole, expected = path.read_bytes(), load_model(run_of(config).folder, table).state_dict()
    draw, told = random.Random(0), []
    for position in draw.sample(range(len(whole)), 60):
        path.write_bytes(whole)
        flip(path, position)
        try:
            found = load_model(run_of(config).folder, table).state_dict()
        except InputError as error:
            told.append(str(error))
        else:
            assert all(torch.equal(weight, expected[name]) for name, weight in found.items())
    assert len(told) > 50
    assert all("train that run" in message and "\n" not in message for message in told)


def test_first_stage_with_damaged_weights_is_trained_again(tiny, caplog):  # how else they may be: test_load.py
    config = tiny("method=hard_erot_llp", "trainer.max_epochs=2")
    measures = run_one(config).measures
    path = run_of(tiny("method=dllp_bce", "trainer.max_epochs=2")).folder / "checkpoints" / "best.pt"
    whole = torch.load(path)
    flip(path, path.stat().st_size // 2)
    config.force = True
    again = run_one(config)
    assert (again.measures, again.stages[0].reused) == (measures, False)
    assert all(torch.equal(weight, whole[name]) for name, weight in torch.load(path).items())
    assert re.search(f"{path}.*is damaged.*: the run is done again", caplog.text)


def test_checkpoints_do_not_pass_through_the_systems_temporary_folder(tiny, monkeypatch):
    config = tiny(*LONG)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    for name in ("mkstemp", "mkdtemp", "TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile"):
        monkeypatch.setattr(tempfile, name, full)
    path = cut_off(config)
    assert [file.name for file in path.parent.iterdir()] == ["resume.ckpt"]
    run_one(config)
