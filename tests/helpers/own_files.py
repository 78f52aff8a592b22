"""Own files prepared as the command does it, without a process."""

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from llp.config.checks import check_config
from llp.config.commands import PrepareConfig
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from llp.data.table import InstanceTable
from llp.datasets.files.options import Coding, Roles
from llp.datasets.preparation import prepare_table
from llp.datasets.reading.options import Reading


def prepare_files(data_dir, files, *options, name="mine", **given):
    """Prepare `dataset=files name=NAME files=...` with options as on the command line; returns the table."""
    words = [f"{key}={value}" for key, value in {"name": name, "files": f"'{files}'", **given}.items()]
    return prepare(data_dir, *words, *options)


def prepare(data_dir, *options):
    """Prepare `dataset=files` with options as on the command line; returns the table."""
    register()
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        config = compose("prepare", ["dataset=files", *options])
    return InstanceTable.open(prepare_table(check_config(config, PrepareConfig).dataset, data_dir))


def values_of(table, recipe, column):
    """A text column's values as they come back from the codes; None for the rare code and for a missing value."""
    known = [None, *recipe.vocabularies[column].to_list()]
    return [known[code] for code in table.codes(column)]


def default_options(**given):
    """The options of reading, roles and coding as `conf/dataset/files.yaml` has them, with some replaced."""
    defaults = OmegaConf.to_container(OmegaConf.load(CONF_DIR / "dataset" / "files.yaml"), resolve=False) | given
    groups = {"reading": Reading, "roles": Roles, "coding": Coding}
    return {group: {name: defaults[name] for name in kind.model_fields} for group, kind in groups.items()}
