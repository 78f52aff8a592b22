"""Trackers: one run of theirs per run of ours, finished with its outcome whatever happens."""

import importlib.util
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from llp.config.schema import AnyLogger, CSVLogger, MLflow, TensorBoard, WandBLogger, WandBProject
from llp.errors import InputError, first_line
from llp.files import lock_of, read_small, write_atomically
from llp.runs.identity import Run

if TYPE_CHECKING:  # Lightning takes seconds to import
    from llp.training.curve import Row

TAG_LENGTH = 64  # characters; W&B refuses longer ones

log = logging.getLogger(__name__)


@contextmanager
def track(logger: AnyLogger, run: Run, attempt: int, metric: tuple[str, Literal["max", "min"]]) -> Iterator[Any | None]:
    """Follow one run, by an id of its own: W&B takes none twice; with `logger=csv` nothing is sent."""
    if isinstance(logger, CSVLogger):
        yield None
        return
    if not isinstance(logger, WandBLogger):
        with _lightning(logger, run, attempt) as logged:
            yield logged
        return
    name, better = metric
    cell, of_cell = run.point[:3], [f"fold={run.point.fold}", f"seed={run.point.seed}"]
    tags = [*cell, *of_cell, str(run.config["protocol"]["name"])]
    with open_run(
        logger,
        run.folder,
        id=f"{run.hash}-{attempt}-{secrets.token_hex(4)}",
        name="-".join([*cell, f"fold{run.point.fold}", f"seed{run.point.seed}"]),
        group="-".join(cell),
        tags=[*(tag[:TAG_LENGTH] for tag in tags), *logger.tags],
        job_type="train",
        config=run.config,
    ) as tracked:
        tracked.define_metric("epoch", hidden=True)
        tracked.define_metric("*", step_metric="epoch")
        tracked.define_metric(f"test_{name}", step_metric="epoch", summary=better)
        yield tracked


def check_installed(logger: AnyLogger) -> None:
    """Refuse a tracker whose package is missing."""
    package = "mlflow" if isinstance(logger, MLflow) else "tensorboard"
    if isinstance(logger, MLflow | TensorBoard) and importlib.util.find_spec(package) is None:
        install = f"pip install {package}"
        raise InputError(f"Invalid logger={package}: expected its package installed, such as {install}, or logger=csv")


class _Logged:
    """A run in a logger of Lightning's; what it cannot take is said once, and the run goes on without it.

    An attempt that resumes follows its curve from the first epoch on; epochs that the tracker has are not sent again.
    """

    def __init__(self, logger: Any, name: str, last: int) -> None:
        self.logger, self.summary, self._name, self._last = logger, self, name, last

    def log(self, row: "Row", step: int) -> None:
        """Add the curve's next point."""
        if step > self._last:
            self.trying(self.logger.log_metrics, row, step)

    def update(self, values: dict[str, Any]) -> None:
        """Add the run's measures."""
        measured = {f"measures/{name}": value for name, value in values["measures"].items() if value is not None}
        self.trying(self.logger.log_metrics, measured, values["metric"]["best_epoch"])

    def trying(self, sends: Callable[..., None], *given: Any) -> None:
        """Send something, unless nothing could be sent before."""
        try:
            if self._name:
                sends(*given)
        except Exception as error:  # of a server that has gone, or a full disk
            log.warning("logger=%s: %s; the run goes on, and is no longer logged there", self._name, first_line(error))
            self._name = ""


@contextmanager
def _lightning(logger: MLflow | TensorBoard, run: Run, attempt: int) -> Iterator[_Logged]:
    """Follow a run by TensorBoard, with a folder for each attempt, or by MLflow, whose run each attempt continues."""
    try:
        made, last = _mlflow(logger, run) if isinstance(logger, MLflow) else (_tensorboard(run, attempt), -1)
    except Exception as error:
        example = "logger.tracking_uri=http://localhost:5000" if isinstance(logger, MLflow) else "logger=csv"
        expected = "expected a place that can be written to, such as"
        raise InputError(f"logger={logger.name}: {first_line(error)}; {expected} {example}") from error
    logged, outcome = _Logged(made, logger.name, last), "failed"
    try:
        yield logged
        outcome = "success"
    finally:
        logged.trying(made.finalize, outcome)


def _tensorboard(run: Run, attempt: int) -> Any:
    from lightning.pytorch.loggers import TensorBoardLogger

    for earlier in (run.folder / "tensorboard").glob("*"):  # of which this attempt repeats what it resumes from
        shutil.rmtree(earlier)
    logger = TensorBoardLogger(run.folder, "tensorboard", str(attempt), default_hp_metric=False)
    logger.log_hyperparams(run.config)
    logger.save()
    return logger


def _mlflow(logger: MLflow, run: Run) -> tuple[Any, int]:
    """The run in MLflow, that of an earlier attempt where it is there and unfinished, and the last epoch it has."""
    from lightning.pytorch.loggers import MLFlowLogger

    path, own = run.folder / "mlflow_run", f"sqlite:///{run.folder.parents[5].absolute()}/mlflow.db"
    place = logger.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or own
    with suppress(Exception):  # there is none, or its server has removed it
        known = MLFlowLogger(logger.experiment, tracking_uri=place, run_id=read_small(path).decode())
        found = known.experiment.get_run(known.run_id)
        if found.info.status != "FINISHED":
            known.experiment.update_run(known.run_id, status="RUNNING")
            return known, int(found.data.metrics.get("epoch", -1))
    tags = {name: str(value) for name, value in run.point._asdict().items()} | {"hash": run.hash}
    with lock_of(run.folder.parents[5] / ".mlflow.lock"):  # runs side by side would make its database at once
        new = MLFlowLogger(logger.experiment, str(run.point), place, tags)
        new.log_hyperparams(run.config)
    write_atomically(path, lambda temporary: temporary.write_text(str(new.run_id)))
    return new, -1


@contextmanager
def open_run(logger: WandBProject, folder: Path, **shown: Any) -> Iterator[Any]:
    """A run of W&B that is finished with its outcome; `shown` goes to `wandb.init`, offline files to `folder`."""
    import wandb

    try:
        run = wandb.init(
            project=logger.project,
            entity=logger.entity,
            mode=wandb_mode(logger.mode),
            dir=folder,
            reinit="create_new",  # the run belongs to this call, not to the process
            settings=wandb.Settings(console="off", silent=True),
            **shown,
        )
    except (wandb.Error, ValidationError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else first_line(error)
        unconnected = isinstance(error, wandb.errors.CommError) or "API key" in problem
        remedy = "; write logger.mode=offline to go on without a connection" if unconnected else ""
        raise InputError(f"logger=wandb: {problem}{remedy}") from error
    exit_code = 1
    try:
        yield run
        exit_code = 0
    finally:
        run.finish(exit_code=exit_code)


def wandb_mode(asked: Literal["auto", "online", "offline"]) -> Literal["online", "offline", "disabled"]:
    """Online only where a key is configured: W&B would prompt for one otherwise."""
    if asked != "auto":
        return asked
    import wandb

    forced = os.environ.get("WANDB_MODE")
    if forced in ("online", "offline", "disabled"):
        return forced  # type: ignore[return-value]
    return "online" if wandb.login(prompt=False, verify=False) else "offline"
