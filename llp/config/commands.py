"""The root of each command's config: its groups and its own options (see `llp.config.schema`)."""

import copy
from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, PrivateAttr

from llp.config.schema import (
    AnyLogger,
    ConfigGroup,
    DatasetConfig,
    Folder,
    Hardware,
    KeyGroup,
    MethodConfig,
    ModelConfig,
    NoiseOnSums,
    OptimizerConfig,
    PreparedDataset,
    ProtocolConfig,
    ReadAs,
    TargetConfig,
    Threads,
    TrainerConfig,
    WandBProject,
    Workers,
)
from llp.data.folds import N_FOLDS
from llp.errors import InputError, shortened
from llp.seeding import keyed_seed


class TrainConfig(ConfigGroup):
    """`conf/train.yaml`: a run."""

    dataset: DatasetConfig
    grouping_key: KeyGroup
    method: MethodConfig
    model: ModelConfig
    optimizer: OptimizerConfig
    trainer: TrainerConfig
    hardware: Hardware
    protocol: ProtocolConfig
    noise: NoiseOnSums | None = None
    logger: AnyLogger
    fold: Annotated[int, Field(ge=0, le=N_FOLDS - 1)]
    seed: NonNegativeInt
    data_dir: Folder
    outputs_dir: Folder
    force: bool
    save_model: bool
    checkpoint_minutes: NonNegativeFloat
    debug: bool
    num_workers: Workers
    again: Annotated[str | None, Field(alias="from")]

    _identity: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """The part of the config that is hashed into a run's identity, every value as it was written."""
        return self._identity

    def identified(self, identity: dict[str, Any]) -> Self:
        """The same config with what identifies its run."""
        new = self.model_copy()
        new._identity = identity
        return new

    @property
    def targets(self) -> list[TargetConfig]:
        """The groups that may name a class or a function of the user's own."""
        return [self.method, self.model, self.optimizer, self.dataset.prepare]

    @property
    def draw_seed(self) -> int:
        """Of all draws of the run itself, by seed and fold; runs of before `protocol.folds` drew alike in all folds."""
        return self.seed if self.protocol.folds is None else keyed_seed(self.seed, "fold", self.fold)

    @property
    def repeat(self) -> int | None:
        """Which five folds there are; None: the published ones."""
        return self.seed if self.protocol.folds == "by_seed" else None

    @property
    def refits(self) -> bool:
        """Whether the final model is trained again on all train bags; auto: where each says something of its own."""
        return self.grouping_key.refits if self.protocol.refit == "auto" else bool(self.protocol.refit)

    @property
    def keeps_weights(self) -> bool:
        """Whether the run keeps its best weights, because it is asked to or because others start from them."""
        return self.save_model or bool(self.method.keep_model)

    def first_stage(self) -> Self | None:
        """The run that the method starts from: one of its own, shared by all that start from it, and by the user."""
        if self.method.first_stage is None:
            return None
        model = self.method.first_model or self.model
        changes = {"method": self.method.first_stage, "model": model, "force": False, "save_model": True}
        identity = self.identity | {"method": copy.deepcopy(self.identity["method"]["first_stage"])}
        if "recalibrate" in self.identity["method"]:
            identity["method"].setdefault("recalibrate", False)  # as in the run of that method by itself
        if self.method.first_model is not None:
            identity["model"] = copy.deepcopy(self.identity["method"]["first_model"])
        return self.model_copy(update=changes).identified(identity)


class PrepareConfig(ConfigGroup):
    """`conf/prepare.yaml`."""

    dataset: PreparedDataset
    grouping_key: Any  # a dataset names its default key and model; they play no part here
    model: Any
    raw: str | list[str] | None
    errors: Literal["stop", "skip"]
    force: bool
    debug: bool
    data_dir: Folder


def _listed(given: str | list[str] | None) -> list[str] | None:
    return [given] if isinstance(given, str) else given


_Chosen = Annotated[str, Field(min_length=1)]
_SomeNames = _Chosen | Annotated[list[_Chosen], Field(min_length=1)]
_Names = Annotated[list[str] | None, ReadAs(_SomeNames | None, _listed)]
_Items = Annotated[list[str] | None, ReadAs(str | list[str] | None, _listed)]


class AnalyzeConfig(ConfigGroup):
    """`conf/analyze.yaml`."""

    dataset: DatasetConfig
    grouping_key: KeyGroup
    model: Any  # a dataset names its default one; it plays no part here
    key_size: Annotated[int, Field(ge=1, le=3)]
    low_thresh: PositiveInt
    high_thresh: PositiveInt
    instance_thresh: Annotated[float, Field(ge=0, le=100)]
    bag_sizes: list[PositiveInt]
    bag_seed: NonNegativeInt
    space: Annotated[str, Field(examples=["multi_hot"])]
    metric: Annotated[str, Field(examples=["sqeuclidean"])]
    metric_limit: PositiveInt
    tail_named_by: Literal["p85", "p70"]
    matrix: _Names
    matrix_bags: Annotated[int, Field(ge=2)]
    threads: Threads
    debug: bool
    data_dir: Folder
    outputs_dir: Folder


class ReportConfig(WandBProject):
    """`conf/report.yaml`."""

    outputs_dir: Folder
    dataset: _Names
    grouping_key: _Names
    method: _Names
    experiment: _Chosen | None
    tables: _Items
    figures: _Items
    logger: Literal["wandb"] | None
    watch: bool


class StatusConfig(ConfigGroup):
    """`conf/status.yaml`."""

    experiment: _Names
    outputs_dir: Folder
    watch: bool


class PredictConfig(ConfigGroup):
    """`conf/predict.yaml`."""

    run: Annotated[list[str], ReadAs(_SomeNames, _listed)]
    files: Annotated[list[str] | None, ReadAs(_SomeNames | None, _listed)]
    dataset: DatasetConfig | None = None
    grouping_key: Any  # a dataset names its default key and model; they play no part here
    model: Any
    out: _Chosen
    data_dir: Folder


class ExportConfig(ConfigGroup):
    """`conf/export.yaml`."""

    run: _Chosen
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
}


def name_of(model: type[ConfigGroup]) -> str:
    """The command whose config a model is: its name behind `llp.`."""
    return model.__name__.removesuffix("Config").lower()


COMMANDS = {
    name_of(model): model
    for model in (
        *(TrainConfig, PrepareConfig, AnalyzeConfig, ReportConfig),
        *(StatusConfig, PredictConfig, ExportConfig),
    )
}


def check_grid(command: str | None, word: str) -> None:
    """Refuse what asks a command for several points, unless it has a grid."""
    if command in SEVERAL:
        expected, example = SEVERAL[command]
        raise InputError(
            f"Invalid {shortened(word)}: only llp.train has a grid; expected {expected}, such as {example}"
        )
