"""A config file that is edited while a grid runs is told in one line."""

import copy
import logging
import shutil

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from llp.config.composition import register
from llp.config.edited import ConfigFiles
from llp.config.grouping_keys import CONF_DIR


def test_edited_made_and_removed_files_are_told_once(tmp_path, caplog):
    register()
    shutil.copytree(CONF_DIR, tmp_path / "conf")
    edited = tmp_path / "conf" / "method" / "upm.yaml"

    def compose(name):
        return loader.load_sweep_config(master, [f"method={name}"])

    with initialize_config_dir(str(tmp_path / "conf"), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        master = loader.load_configuration("train", ["method=upm,dllp_bce"], RunMode.MULTIRUN)
        for _ in range(2):
            assert compose("upm").method.detach is False
        assert not caplog.records
        edited.write_text(edited.read_text().replace("detach: false", "detach: true "))
        assert compose("upm").method.detach is True
        compose("dllp_bce")
        (tmp_path / "conf" / "method" / "mine.yaml").write_text("name: mine\n")
        (tmp_path / "conf" / "method" / "count.yaml").unlink()
        compose("upm")
        (tmp_path / "conf" / "dashboard.yaml").write_text("project: mine\n")  # another command's
        compose("upm")
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 2
    assert told[0].startswith(f"{edited} changed while the grid runs: from here on its points have another config")
    assert "count.yaml, " in told[1]
    assert "mine.yaml changed" in told[1]


def test_every_point_of_a_worker_brings_the_files_of_the_start_and_one_line_tells_of_them(tmp_path, caplog):
    edited = tmp_path / "method" / "upm.yaml"
    edited.parent.mkdir()
    edited.write_text("name: upm\n")
    at_start = ConfigFiles()
    at_start.tell_edited([("file", str(tmp_path))])
    edited.write_text("name: other\n")
    for _ in range(3):
        copy.deepcopy(at_start).tell_edited([("file", str(tmp_path))])
    assert len(caplog.records) == 1
