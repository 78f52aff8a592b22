"""What a composed config holds: one model per config group, and one per command for its root.

The models say names, types and ranges; every value comes from YAML. An option that may be left out is None then.
Options of a `_target_` are checked by its own type hints (`llp.config.options`).
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from llp.data.folds import N_FOLDS
from llp.data.table import LabelKind

Name = Annotated[
    str,
    Field(
        pattern=r"^[^/\x00-\x1f]*[^/.\x00-\x1f][^/\x00-\x1f]*$",
        description="a name that a folder can have",
        examples=["NAME"],
    ),
]
Folder = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]+$", description="a folder", examples=["FOLDER"])]


class ConfigGroup(BaseModel):
    """A config group: other options than those that it names are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class TargetConfig(ConfigGroup):
    """A group that says what is called with the rest of its options."""

    model_config = ConfigDict(extra="allow")

    target: Annotated[str, Field(alias="_target_", description="a dotted path", examples=["package.module.NAME"])]


class DatasetConfig(ConfigGroup):
    """`conf/dataset`: where a table comes from, and what training on it starts from.

    A dataset's YAML file may hold further options, as long as an interpolation reads them.
    """

    name: Name
    table: Name
    label_kind: LabelKind
    key_columns: Annotated[list[str], Field(examples=[["A", "B"]])]
    number_columns: NonNegativeInt | None = None
    embedded: bool
    learning_rate: PositiveFloat
    patience: PositiveInt
    source: str | None = None  # where the raw files are had: of datasets that are not embedded
    prepare: TargetConfig


class PreparedDataset(DatasetConfig):
    """A dataset to be prepared: own files tell the kind of label themselves."""

    label_kind: LabelKind | None  # type: ignore[assignment]


class FeatureKey(ConfigGroup):
    """Instances that agree on the columns form a bag."""

    kind: Literal["feature"]
    columns: list[str]
    low_thresh: PositiveInt
    high_thresh: PositiveInt


class FixedKey(ConfigGroup):
    """Runs of train rows sorted by the columns."""

    kind: Literal["fixed"]
    columns: list[str]
    bag_size: PositiveInt
    seed: NonNegativeInt


class RandomKey(ConfigGroup):
    """Runs of permuted train rows."""

    kind: Literal["random"]
    bag_size: PositiveInt
    seed: NonNegativeInt


class MethodConfig(TargetConfig):
    """`conf/method`: beside the method's own options, what the program knows it by."""

    name: Name
    labels: Annotated[list[LabelKind], Field(min_length=1, examples=[["binary"]])]
    first_stage: "MethodConfig | None" = None
    keep_model: bool | None = None
    by_label_kind: dict[LabelKind, dict[str, Any]] | None = None


class ModelConfig(TargetConfig):
    """`conf/model`."""

    name: Name


class OptimizerConfig(TargetConfig):
    """`conf/optimizer`: its first parameter, the weights, comes later."""

    partial: Annotated[Literal[True], Field(alias="_partial_")]


class TrainerConfig(ConfigGroup):
    """`conf/trainer`: how long and on how much a stage trains."""

    max_epochs: PositiveInt
    patience: PositiveInt
    bags_per_batch: PositiveInt
    instances_per_batch: PositiveInt
    threads: PositiveInt


class Hardware(ConfigGroup):
    """`conf/hardware`: where and how a stage is computed; nothing of it is part of a run's identity.

    Attributes
    ----------
    accelerator : {'auto', 'cpu', 'gpu'}
        The kind of device.
    features_on : {'auto', 'device', 'host'}
        Whether the table lives in the device's memory, and training goes by chunks (`llp.training.chunks`).
    cuda_graphs : bool
        Whether a step on resident data is captured (`llp.training.cuda_graphs`).
    deterministic : bool
        Whether a GPU adds in a fixed order.
    """

    accelerator: Literal["auto", "cpu", "gpu"]
    features_on: Literal["auto", "device", "host"]
    cuda_graphs: bool
    deterministic: bool


class ProtocolConfig(ConfigGroup):
    """`conf/protocol`."""

    name: Literal["paper", "holdout"]
    held_out: Annotated[float, Field(ge=0, lt=1)]


class CSVLogger(ConfigGroup):
    """`conf/logger/csv`."""

    name: Literal["csv"]


class WandBLogger(ConfigGroup):
    """`conf/logger/wandb`."""

    name: Literal["wandb"]
    project: str
    entity: str | None
    mode: Literal["auto", "online", "offline"]
    tags: list[str]


class TrainConfig(ConfigGroup):
    """`conf/train.yaml`."""

    dataset: DatasetConfig
    grouping_key: Annotated[FeatureKey | FixedKey | RandomKey, Field(discriminator="kind")]
    method: MethodConfig
    model: ModelConfig
    optimizer: OptimizerConfig
    trainer: TrainerConfig
    hardware: Hardware
    protocol: ProtocolConfig
    logger: Annotated[CSVLogger | WandBLogger, Field(discriminator="name")]
    fold: Annotated[int, Field(ge=0, le=N_FOLDS - 1)]
    seed: NonNegativeInt
    data_dir: Folder
    outputs_dir: Folder
    force: bool
    save_model: bool
    checkpoint_minutes: NonNegativeFloat
    num_workers: NonNegativeInt
    runs_at_once: PositiveInt


class PrepareConfig(ConfigGroup):
    """`conf/prepare.yaml`."""

    dataset: PreparedDataset
    grouping_key: Any  # a dataset names its default key and model; they play no part here
    model: Any
    raw: Annotated[str | list[str] | None, Field(description="a path, or a list of paths", examples=["PATH"])]
    errors: Literal["stop", "skip"]
    force: bool
    data_dir: Folder


class AnalyzeConfig(ConfigGroup):
    """`conf/analyze.yaml`."""

    dataset: DatasetConfig
    grouping_key: Annotated[FeatureKey | FixedKey | RandomKey, Field(discriminator="kind")]
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
    threads: PositiveInt
    data_dir: Folder
    outputs_dir: Folder


_Names = Annotated[str | list[str] | None, Field(description="a name, a list of names, or null for all")]


class ReportConfig(ConfigGroup):
    """`conf/report.yaml`."""

    outputs_dir: Folder
    dataset: _Names
    grouping_key: _Names
    method: _Names
    tables: _Names
    figures: _Names


COMMANDS: dict[str, type[ConfigGroup]] = {
    "train": TrainConfig,
    "prepare": PrepareConfig,
    "analyze": AnalyzeConfig,
    "report": ReportConfig,
}
