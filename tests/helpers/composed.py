"""What takes a checked config, for tests that start from a composed one."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

import llp.status  # noqa: F401  # registers its config, as llp.report does
from llp import report as llp_report
from llp.config import checks
from llp.config.commands import COMMANDS, ReportConfig, TrainConfig
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, key_of
from llp.config.hydra_main import store
from llp.config.rerun import identity_of
from llp.config.schema import DatasetConfig
from llp.data.keys import GroupingKey
from llp.data.table import InstanceTable
from llp.results.output import ReportFiles
from llp.runs import build, run
from llp.runs.identity import Run
from llp.runs.record import RunRecord
from llp.training import selection
from tests.helpers.commands import TINY


@contextmanager
def hydras_loader(command: str = "train") -> Iterator[Any]:
    """Hydra's loader of the configs, as a command has it."""
    register()
    made = command in ("report", "status")  # their configs are no files
    if made:
        store(command)
    with initialize(None, version_base="1.3") if made else initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        yield GlobalHydra.instance().config_loader()


def composition(command: str, *overrides: str, **options: Any) -> DictConfig:
    """A command's config as Hydra composes it."""
    with hydras_loader(command):
        return compose(command, [*overrides], **options)


def tiny_config(data_dir: Path, outputs_dir: Path, *overrides: str) -> DictConfig:
    """The config of a tiny run whose table and outputs are in these folders."""
    return composition("train", *TINY, f"data_dir={data_dir}", f"outputs_dir={outputs_dir}", *overrides)


@cache
def _report_config() -> ReportConfig:
    return checks.check_config(composition("report"), ReportConfig)


def report(outputs_dir: Path, console: Console | None = None, **asked: Any) -> ReportFiles:
    """The report of a folder, with some options."""
    assert asked.keys() <= ReportConfig.model_fields.keys()  # a copy takes any name
    return llp_report.report(_report_config().model_copy(update={"outputs_dir": outputs_dir, **asked}), console)


def check_config(config: DictConfig, command: str = "train") -> Any:
    return checks.check_config(config, COMMANDS[command])


def checked(config: DictConfig) -> TrainConfig:
    return checks.check_config(config, TrainConfig)


def grouping_key(config: DictConfig) -> GroupingKey:
    content: Any = OmegaConf.to_container(config.grouping_key, resolve=True)
    return key_of(content)


def run_one(config: DictConfig) -> RunRecord:
    return run.run_one(checked(config))


def open_table(config: DictConfig) -> InstanceTable:
    return build.open_table(checked(config).dataset, Path(config.data_dir))


def build_model(config: DictConfig, table: InstanceTable) -> Any:
    return build.Parts(checked(config), table).model()


def build_method(config: DictConfig, table: InstanceTable) -> Any:
    return build.Parts(checked(config), table).method()


def build_data(config: DictConfig, table: InstanceTable, **options: Any) -> Any:
    return build.Parts(checked(config), table).data(**options)


def check_build(config: DictConfig, table: InstanceTable) -> None:
    build.Parts(checked(config), table).check()


def start_of(config: DictConfig, table: InstanceTable, *, refit: bool = False) -> Any:
    """Method and data of a composed config, without a first stage."""
    config = checked(config)
    alone = config.method.model_copy(update={"first_stage": None})
    return build.Parts(config.model_copy(update={"method": alone}), table).start(refit=refit)


def selects_by(config: DictConfig, data: Any) -> str:
    return selection.selects_by(checked(config).protocol, data)


def run_of(config: DictConfig, table: InstanceTable | None = None) -> Run:
    """The run of a composed config, whatever its names."""
    content: Any = OmegaConf.to_container(config, resolve=True)
    if table is None:
        dataset = DatasetConfig.model_validate({**content["dataset"], "name": "made"})
        table = build.open_table(dataset, Path(config.data_dir))
    return Run.of(identity_of(content), table, Path(config.outputs_dir))


def record_of(config: DictConfig) -> RunRecord:
    """The record of a composed config's finished run."""
    return RunRecord.read(run_of(config).result_path)
