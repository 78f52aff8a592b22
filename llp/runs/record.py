"""The records that runs leave, `result.json` and `error.json`: their fields and version, written and read here."""

import traceback
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)

from llp.data.noise import Promise
from llp.errors import InputError
from llp.files import read_small, write_atomically

SCHEMA: Final = 2


_LARGEST = 1e100  # errors of float32 predictions stay below 1e77; sums of squares of larger ones are not finite
_DEFINED = BeforeValidator(lambda value: None if isinstance(value, float) and not abs(value) <= _LARGEST else value)
MeasuredValue = Annotated[float | None, _DEFINED]
"""A measured value; None, in JSON null, where it is undefined, not finite or beyond what can be summed."""

NaturalNumber = Annotated[int, Field(ge=0, lt=2**63)]
Seconds = Annotated[float, Field(lt=1e9, allow_inf_nan=False)]


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise ValueError("expected a time in ISO 8601") from None
    return text


Moment = Annotated[str, AfterValidator(_moment)]


class RecordError(InputError):
    """A file is no record that can be used; says in one line why."""


class NewerRecordError(RecordError):
    """A record was written by a later version of the program."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _File(_Part):
    """A record that is a file of its own."""

    def write(self, path: Path) -> None:
        """Write the record atomically, as strict JSON."""
        text = self.model_dump_json(indent=1)
        write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record; RecordError where it is damaged or none, NewerRecordError where a later version wrote it."""
        try:
            content = read_small(path)
        except OSError as error:
            raise RecordError(f"{path} cannot be read: {error.strerror}") from None
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            raise _problem(path, content, error) from None


class MetricRecord(_Part):
    """The run's own metric on the test rows."""

    name: str  # such as auc
    mode: Literal["max", "min"]  # which end is better
    best: MeasuredValue  # at the chosen epoch, or of the model that was trained again as long as up to it
    best_epoch: Annotated[int, Field(ge=-1, lt=2**63)]  # the chosen one, -1 where nothing is trained
    last: MeasuredValue  # after the last epoch; None where the protocol touches the test rows only once
    untrained: MeasuredValue  # before the first step; None likewise
    held_out: MeasuredValue = None  # the loss that picked the epoch; None under protocol=paper, and without training
    picked_by: str | None = None  # its column of `metrics.csv`, such as held_out_upm; None in older records


class RefitRecord(_Part):
    """Training of the final model, once the epoch was chosen."""

    steps: NaturalNumber  # as many as up to the chosen epoch
    bags: NaturalNumber  # train bags, the held-out ones among them
    instances: NaturalNumber  # of these bags


class StageRecord(_Part):
    """Length of one stage's training."""

    method: str
    epochs: NaturalNumber
    early_stopped: bool  # whether the curve, and not the epoch limit, ended it
    seconds: Seconds  # wall-clock time
    instances_per_second: MeasuredValue
    run: str | None = None  # folder of the run that trained it; None for the record's own
    reused: bool = False  # whether that run was finished before


class RunRecord(_File):
    """A finished run: which point of the grid it is, what it reached, how it got there and with what.

    Attributes
    ----------
    bag_kind : str
        Of the grouping key: feature, random, fixed, prior, given.
    bag_size : int or None
        Of random, fixed-size and curated bags.
    config : dict
        The resolved config groups that identify the run.
    config_hash, table : str
        Digest of `config` and `table`, name of the run's folder; fingerprint of the prepared table.
    refit : RefitRecord or None
        Of the kept model, where it was trained again on all train bags.
    measures : dict
        Every measure on the test rows of the kept model, or on bags; held-out bags measure that of the chosen epoch.
    stages : list of StageRecord
        In order; the last one's outcome is the run's.
    n_held_out_bags, n_left_out_bags : int or None
        By which the epoch was chosen, and that share rows with bags that measure: neither is in `n_train_bags`; None in
        records of before it was kept.
    noise : Promise or None
        What the noise in the sums promises; None where there is none, and in records of before it was kept.
    facts : dict
        What the method chose by itself, such as the penalties of `cell_glm`; empty in records of before it was kept.
    instance_labels : bool
        Whether the method was given the instances' own labels: flipped ones (`noise`) are none.
    attempt, started, seconds
        How often the run was started, when it was this time (ISO 8601, UTC), and how long that took.
    """

    schema_version: Literal[2] = SCHEMA
    dataset: str
    label_kind: Literal["binary", "real"]
    grouping_key: str
    bag_kind: str
    bag_size: NaturalNumber | None
    method: str
    model: str
    protocol: str
    fold: NaturalNumber
    seed: NaturalNumber
    config: dict[str, JsonValue]
    config_hash: str
    table: str
    metric: MetricRecord
    refit: RefitRecord | None = None
    measures: Mapping[str, MeasuredValue]
    stages: Annotated[list[StageRecord], Field(min_length=1)]
    n_train_bags: NaturalNumber
    n_held_out_bags: NaturalNumber | None = None
    n_left_out_bags: NaturalNumber | None = None
    noise: Promise | None = None
    facts: dict[str, JsonValue] = {}
    n_train_instances: NaturalNumber
    n_test_instances: NaturalNumber
    instance_labels: bool
    versions: dict[str, str | None]
    device: str
    git_commit: str | None
    attempt: NaturalNumber
    started: Moment
    seconds: Seconds


class FailureRecord(_File):
    """The error of a failed run; removed when it is tried again."""

    error: str
    type: str
    traceback: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Describe the exception that is being handled."""
        return cls(error=str(error), type=type(error).__name__, traceback=traceback.format_exc())

    @property
    def reason(self) -> str:
        """Type and first line of the error."""
        lines = self.error.strip().splitlines()
        return f"{self.type}: {lines[0] if lines else 'no message'}"


class _Versioned(BaseModel):
    schema_version: int = Field(validation_alias=AliasChoices("schema_version", "schema"))  # schema: before 2


def _problem(path: Path, content: bytes, error: ValidationError) -> RecordError:
    try:
        version = _Versioned.model_validate_json(content, strict=True).schema_version
    except ValidationError:
        version = SCHEMA
    if version != SCHEMA:
        kind = NewerRecordError if version > SCHEMA else RecordError
        return kind(f"{path} has schema {version}: this version of llp-bench reads schema {SCHEMA}")
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return RecordError(f"{path} is damaged: {place}{': ' if place else ''}{first['msg']}")
