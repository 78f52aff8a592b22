"""`dataset=files` in a command that trains: the table is prepared first, and used by its name."""

from collections.abc import Sequence

from hydra import compose, initialize_config_dir

from llp.config.checks import check_config
from llp.config.commands import PrepareConfig
from llp.config.grouping_keys import CONF_DIR, read_option
from llp.datasets.preparation import prepare_table

GIVEN = "dataset=files"
SHOWN_ALONE = ("-h", "--help", "--hydra-help", "-c", "--cfg", "-i", "--info", "-sc", "--shell-completion")


def prepare_beforehand(words: Sequence[str]) -> list[str]:
    """Prepare the table of `dataset=files` among a command's words, which come back with dataset=NAME."""
    if GIVEN not in words or any(word in SHOWN_ALONE for word in words):
        return list(words)
    options = {*(str(name) for name in read_option("dataset/files")), "errors"}
    of_files = [word for word in words if word.partition("=")[0] in options]
    place = [word for word in words if word.startswith("data_dir=")]
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        config = compose("prepare", [GIVEN, *place, *of_files])
    checked = check_config(config, PrepareConfig)
    prepare_table(checked.dataset, checked.data_dir, None, checked.errors)
    return [*(word for word in words if word not in (GIVEN, *of_files)), f"dataset={checked.dataset.name}"]
