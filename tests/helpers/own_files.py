"""Own files prepared, trained on and scored as the commands do it, without a process."""

import datetime

import numpy as np
import polars as pl
import pytest
from omegaconf import OmegaConf

from llp.config.checks import check_config
from llp.config.commands import PrepareConfig
from llp.config.grouping_keys import CONF_DIR
from llp.data.table import InstanceTable
from llp.datasets.files.options import Coding, Roles
from llp.datasets.files.recipe import Recipe
from llp.datasets.preparation import prepare_table
from llp.datasets.reading.options import Reading
from llp.scoring.predict import write_scores
from llp.scoring.rows import FilesRows, TableRows
from llp.scoring.trained import TrainedRuns
from tests.helpers.composed import composition, run_of, run_one


def prepare_files(data_dir, files, *options, name="mine", **given):
    """Prepare `dataset=files name=NAME files=...` with options as on the command line; returns the table."""
    words = [f"{key}={value}" for key, value in {"name": name, "files": f"'{files}'", **given}.items()]
    return prepare(data_dir, *words, *options)


def prepare(data_dir, *options):
    """Prepare `dataset=files` with options as on the command line; returns the table."""
    config = composition("prepare", "dataset=files", *options)
    return InstanceTable.open(prepare_table(check_config(config, PrepareConfig).dataset, data_dir))


def values_of(table, column):
    """A text column's values as they come back from the codes; None for the rare code and for a missing value."""
    known = [None, *Recipe.load(table.folder).vocabularies[column]]
    return [known[code] for code in table.codes(column)]


def default_options(**given):
    """The options of reading, roles and coding as `conf/dataset/files.yaml` has them, with some replaced."""
    defaults = OmegaConf.to_container(OmegaConf.load(CONF_DIR / "dataset" / "files.yaml"), resolve=False) | given
    groups = {"reading": Reading, "roles": Roles, "coding": Coding}
    return {group: {name: defaults[name] for name in kind.model_fields} for group, kind in groups.items()}


def shop_rows(n, seed=0):
    """Rows of shops, some of whose values are missing: who buys, and for how much, depends on the price."""
    rng = np.random.default_rng(seed)
    price, shop = rng.normal(size=n).round(3), rng.integers(0, 5, n)
    return pl.DataFrame(
        {
            "who": [f"user {i}" for i in range(n)],
            "campaign": [f"c{i:02}" for i in rng.integers(0, 30, n)],
            "shop": [None if i % 50 == 7 else f"shop {one}" for i, one in enumerate(shop)],
            "price": [None if i % 40 == 3 else one for i, one in enumerate(price.tolist())],
            "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(i)) for i in rng.integers(0, 300, n)],
            "bought": (price + shop / 3 + rng.normal(size=n) / 2 > 0.7).astype(int),
            "spent": (price * 10 + rng.normal(size=n)).round(2),
        }
    )


class Home:
    """A folder with own files, the tables that are prepared from them, and the runs on these."""

    def __init__(self, folder):
        self.folder, self.data = folder, folder / "data"

    @classmethod
    def of(cls, tmp_path_factory):
        """A home for a module's tests: what a fixture yields from."""
        with pytest.MonkeyPatch.context() as patch:
            home = cls(tmp_path_factory.mktemp("home"))
            patch.setenv("LLP_DATA_DIR", str(home.data))
            yield home

    def prepare(self, files, *options, name="mine", **given):
        return prepare_files(self.data, self.folder / files, *options, name=name, **given)

    def config(self, dataset, *words, command="train"):
        places = [f"data_dir={self.data}", f"outputs_dir={self.folder / 'outputs'}"]
        return composition(command, f"dataset={dataset}", *places, *words)

    def train(self, dataset, *words):
        """The record of a run and its folder."""
        config = self.config(dataset, *words)
        return run_one(config), run_of(config).folder

    def runs(self, *folders):
        return TrainedRuns.open([*map(str, folders)], self.data)

    def scores(self, folders, files=None, out="scores.parquet"):
        """The scores of files, or of the table of the runs."""
        runs = self.runs(*folders)
        source = TableRows(runs.table, lambda n: None)
        if files is not None:
            source = FilesRows([*map(str, files)], Recipe.load(runs.table.folder), lambda n: None)
        written = write_scores(runs, source, self.folder / out)
        read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "arrow": pl.read_ipc}[out.split(".")[1]]
        frame = read(self.folder / out)
        assert written.rows == frame.height
        return frame
