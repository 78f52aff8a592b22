"""The root of each command's config: its groups and its own options (see `llp.config.schema`)."""

from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from llp.config.schema import (
    ConfigGroup,
    CSVLogger,
    DatasetConfig,
    FeatureKey,
    FixedKey,
    Folder,
    GivenKey,
    Hardware,
    MethodConfig,
    ModelConfig,
    NoiseConfig,
    OptimizerConfig,
    PreparedDataset,
    PriorKey,
    Project,
    ProtocolConfig,
    RandomKey,
    TrainerConfig,
    WandBLogger,
)
from llp.data.folds import N_FOLDS
from llp.errors import InputError, shortened


class TrainConfig(ConfigGroup):
    """`conf/train.yaml`."""

    dataset: DatasetConfig
    grouping_key: Annotated[FeatureKey | FixedKey | GivenKey | PriorKey | RandomKey, Field(discriminator="kind")]
    method: MethodConfig
    model: ModelConfig
    optimizer: OptimizerConfig
    trainer: TrainerConfig
    hardware: Hardware
    protocol: ProtocolConfig
    noise: NoiseConfig | None = None
    logger: Annotated[CSVLogger | WandBLogger, Field(discriminator="name")]
    fold: Annotated[int, Field(ge=0, le=N_FOLDS - 1)]
    seed: NonNegativeInt
    data_dir: Folder
    outputs_dir: Folder
    force: bool
    save_model: bool
    checkpoint_minutes: NonNegativeFloat
    debug: bool
    num_workers: NonNegativeInt
    again: Annotated[str | None, Field(alias="from", description="the folder of a run", examples=["FOLDER"])]


class PrepareConfig(ConfigGroup):
    """`conf/prepare.yaml`."""

    dataset: PreparedDataset
    grouping_key: Any  # a dataset names its default key and model; they play no part here
    model: Any
    raw: Annotated[str | list[str] | None, Field(description="a path, or a list of paths", examples=["PATH"])]
    errors: Literal["stop", "skip"]
    force: bool
    debug: bool
    data_dir: Folder


_Chosen = Annotated[str, Field(min_length=1)]
_Names = Annotated[
    _Chosen | Annotated[list[_Chosen], Field(min_length=1)] | None,
    Field(description="a name, a list of names that is not empty, or null", examples=["NAME"]),
]
_Items = Annotated[str | list[str] | None, Field(description="a name, a list of names, or null")]


class AnalyzeConfig(ConfigGroup):
    """`conf/analyze.yaml`."""

    dataset: DatasetConfig
    grouping_key: Annotated[FeatureKey | FixedKey | GivenKey | PriorKey | RandomKey, Field(discriminator="kind")]
    model: Any  # a dataset names its default one; it plays no part here
    key_size: Literal[1, 2, 3]
    low_thresh: PositiveInt
    high_thresh: PositiveInt
    instance_thresh: Annotated[float, Field(ge=0, le=100)]
    bag_sizes: list[PositiveInt]
    bag_seed: NonNegativeInt
    space: Annotated[str, Field(description="multi_hot, none or the folder of a run", examples=["multi_hot"])]
    metric: Annotated[str, Field(description="a metric of scipy's cdist", examples=["sqeuclidean"])]
    metric_limit: PositiveInt
    tail_named_by: Literal["p85", "p70"]
    matrix: _Names
    matrix_bags: Annotated[int, Field(ge=2)]
    threads: PositiveInt
    debug: bool
    data_dir: Folder
    outputs_dir: Folder


class ReportConfig(ConfigGroup):
    """`conf/report.yaml`."""

    outputs_dir: Folder
    dataset: _Names
    grouping_key: _Names
    method: _Names
    experiment: _Chosen | None
    learning_rate: Literal["all", "held_out"]
    tables: _Items
    figures: _Items
    logger: Literal["wandb"] | None
    project: Project
    entity: str | None
    mode: Literal["auto", "online", "offline"]
    watch: bool


class StatusConfig(ConfigGroup):
    """`conf/status.yaml`."""

    experiment: _Names
    outputs_dir: Folder
    data_dir: Folder
    watch: bool


class DashboardConfig(ConfigGroup):
    """`conf/dashboard.yaml`."""

    project: Project
    entity: str | None
    name: str
    mode: Literal["auto", "online", "offline"]
    save: Annotated[
        str | None,
        Field(pattern=r"^(.*/)?[^/]*[^/.][^/]*$", description="a file, or null", examples=["workspace.json"]),
    ]


class PredictConfig(ConfigGroup):
    """`conf/predict.yaml`."""

    run: Annotated[str | list[str], Field(description="the folder of a run, or a list of them", examples=["FOLDER"])]
    files: Annotated[str | list[str] | None, Field(description="a path, or a list of paths", examples=["PATH"])]
    dataset: DatasetConfig | None = None
    grouping_key: Any  # a dataset names its default key and model; they play no part here
    model: Any
    out: Annotated[str, Field(min_length=1, description="a file", examples=["scores.parquet"])]
    data_dir: Folder


class ExportConfig(ConfigGroup):
    """`conf/export.yaml`."""

    run: Folder
    out: Folder
    data_dir: Folder


# what is written in the place of several points where there is no grid: what is expected, and an example
SEVERAL = {
    "prepare": ("a call for each dataset", "python -m llp.prepare dataset=flights"),
    "analyze": ("a call for each dataset", "python -m llp.analyze dataset=flights"),
    "report": ("one report, of names in lists", "python -m llp.report method=[dllp_bce,sim_llp]"),
    "status": ("one table, of names in a list", "python -m llp.status experiment=[demo,NAME]"),
    "predict": ("runs and files in lists", "python -m llp.predict run=[FOLDER,FOLDER] files=[PATH,PATH]"),
    "export": ("a call for each run", "python -m llp.export run=FOLDER out=FOLDER"),
    "dashboard": ("one call", "python -m llp.dashboard"),
}

COMMANDS: dict[str, type[ConfigGroup]] = {
    "train": TrainConfig,
    "prepare": PrepareConfig,
    "analyze": AnalyzeConfig,
    "report": ReportConfig,
    "status": StatusConfig,
    "predict": PredictConfig,
    "export": ExportConfig,
    "dashboard": DashboardConfig,
}


def check_grid(command: str | None, word: str) -> None:
    """Refuse what asks a command for several points, unless it has a grid."""
    if command in SEVERAL:
        expected, example = SEVERAL[command]
        raise InputError(
            f"Invalid {shortened(word)}: only llp.train has a grid; expected {expected}, such as {example}"
        )
