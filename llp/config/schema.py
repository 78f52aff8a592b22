"""Models of a composed config: one per config group, with names, types and ranges; every value comes from YAML."""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic_core import CoreSchema, core_schema

from llp.config.complaints import like
from llp.data.keys import KINDS, GroupingKey
from llp.data.noise import Mechanism, Neighbours, Noise
from llp.data.table import LabelKind

Name = Annotated[str, like(r"[^/\x00-\x1f]*[^/.\x00-\x1f][^/\x00-\x1f]*", "a name that a folder can have", "NAME")]
Project = Annotated[
    str, like(r"[^/\\#?%:\x00-\x1f]{1,128}", "a name of up to 128 characters without / \\ # ? % and :", "NAME")
]


@dataclass(frozen=True)
class ReadAs:
    """In an annotation: what is written in YAML, and what becomes of it once it is checked."""

    written: Any
    parse: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """See pydantic."""
        return core_schema.no_info_after_validator_function(self.parse, handler.generate_schema(self.written))


Folder = Annotated[Path, ReadAs(Annotated[str, like(r"[^\x00]+", "a folder", "FOLDER")], Path)]


Threads = Annotated[int, Field(ge=1, le=1024)]  # an operating system refuses many more
Workers = Annotated[int, Field(ge=0, le=1024)]


class ConfigGroup(BaseModel):
    """A config group: other options than those that it names are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


AnyConfig = TypeVar("AnyConfig", bound=ConfigGroup)


class TargetConfig(ConfigGroup):
    """A group that says what is called with the rest of its options."""

    model_config = ConfigDict(extra="allow")

    target: Annotated[str, Field(alias="_target_")]

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of the target: plain values, as they are in YAML."""
        return dict(self.model_extra or {})

    @property
    def node(self) -> dict[str, Any]:
        """The target and what it is called with."""
        return {"_target_": self.target, **self.options}


class DatasetConfig(ConfigGroup):
    """`conf/dataset`: a table's source and where training starts; further options are for interpolations."""

    model_config = ConfigDict(extra="allow")

    name: Name
    table: Name
    label_kind: LabelKind
    key_columns: list[str]
    number_columns: NonNegativeInt | None = None
    embedded: bool
    learning_rate: PositiveFloat
    patience: PositiveInt
    source: str | None = None  # where to download the raw files: of datasets that are not embedded
    prepare: TargetConfig


class PreparedDataset(DatasetConfig):
    """A dataset to be prepared: own files tell the kind of label themselves."""

    label_kind: LabelKind | None  # type: ignore[assignment]


_AnyKey: Any = functools.reduce(operator.or_, KINDS.values())
KeyGroup = Annotated[GroupingKey, ReadAs(Annotated[_AnyKey, Field(discriminator="kind")], lambda key: key)]
"""`conf/grouping_key`."""


class MethodConfig(TargetConfig):
    """`conf/method`: beside the method's own options, what the program knows it by."""

    name: Name
    labels: Annotated[list[LabelKind], Field(min_length=1)]
    first_stage: "MethodConfig | None" = None
    first_model: "ModelConfig | None" = None  # of the first stage, where it is another
    keep_model: bool | None = None
    recalibrate: bool | None = None
    by_label_kind: dict[LabelKind, dict[str, Any]] | None = None


class ModelConfig(TargetConfig):
    """`conf/model`."""

    name: Name


class OptimizerConfig(TargetConfig):
    """`conf/optimizer`: its first parameter, the weights, comes later."""

    partial: Annotated[Literal[True], Field(alias="_partial_")]

    @property
    def node(self) -> dict[str, Any]:
        """See `TargetConfig.node`."""
        return {**super().node, "_partial_": True}


class TrainerConfig(ConfigGroup):
    """`conf/trainer`: how long and on how much a stage trains."""

    max_epochs: PositiveInt
    evaluate_every: Annotated[float, Field(gt=0, le=1)]
    patience: PositiveInt
    bags_per_batch: PositiveInt
    instances_per_batch: PositiveInt
    threads: Threads


class Hardware(ConfigGroup):
    """`conf/hardware`: where and how a stage is computed; nothing of it is part of a run's identity."""

    accelerator: Literal["auto", "cpu", "gpu"]
    features_on: Literal["auto", "device", "host"]  # device: the table in its memory, chunks (`llp.training.place`)
    row_order: Literal["auto", "table", "bag"]  # bag: from a copy in the bags' order (`llp.data.bag_order`)
    deterministic: bool  # whether a GPU adds in a fixed order


class NoiseConfig(ConfigGroup):
    """`conf/noise`. Runs of before `neighbours` have those of a label, and of before `shares` none."""

    mechanism: Mechanism
    epsilon: PositiveFloat
    delta: Annotated[float, Field(ge=0, lt=1, examples=[1e-6])]
    sensitivity: PositiveFloat
    seed: NonNegativeInt
    neighbours: Neighbours = "label"
    shares: Annotated[dict[str, float], Field(examples=[{"a": 0.5, "b": 0.3, "a_b": 0.2}])] | None = None


NoiseOnSums = Annotated[Noise, ReadAs(NoiseConfig, lambda options: Noise(**options.model_dump()))]

SelectBy = Literal["test", "bag_loss", "upm", "debiased", "easy_llp"]


class ProtocolConfig(ConfigGroup):
    """`conf/protocol`; `test_in_curve`, `refit` are for what holds bags out. `start`, `folds`: None of earlier runs."""

    name: Literal["paper", "holdout"]
    held_out: Annotated[float, Field(ge=0, lt=1, examples=[0.1])]
    select_by: Literal["auto"] | SelectBy
    start: Literal["labels", "authors"] | None = None
    folds: Literal["published", "by_seed"] | None = None
    test_in_curve: bool | None = None
    refit: Literal["auto"] | bool | None = None


class CSVLogger(ConfigGroup):
    """`conf/logger/csv`."""

    name: Literal["csv"]


class WandBProject(ConfigGroup):
    """The project of Weights & Biases that runs are sent to."""

    project: Project
    entity: str | None
    mode: Literal["auto", "online", "offline"]


class WandBLogger(WandBProject):
    """`conf/logger/wandb`."""

    name: Literal["wandb"]
    tags: list[str]


class TensorBoard(ConfigGroup):
    """`conf/logger/tensorboard`."""

    name: Literal["tensorboard"]


class MLflow(ConfigGroup):
    """`conf/logger/mlflow`."""

    name: Literal["mlflow"]
    experiment: Project
    tracking_uri: str | None


AnyLogger = Annotated[CSVLogger | WandBLogger | TensorBoard | MLflow, Field(discriminator="name")]
