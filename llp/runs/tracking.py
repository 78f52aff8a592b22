"""Weights & Biases: one run of theirs per run of ours, finished with its outcome whatever happens."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from omegaconf import DictConfig
from pydantic import ValidationError

from llp.config.options import reason
from llp.errors import InputError
from llp.training.callbacks import Row

log = logging.getLogger(__name__)


class Tracker:
    """Receives a run's epochs and its summary."""

    def __init__(self, run: Any | None) -> None:
        self._run = run

    def log_epoch(self, row: Row) -> None:
        """Log the curves' next point."""
        if self._run is not None:
            self._run.log(row, step=int(row["epoch"]))

    def summarize(self, values: dict[str, Any]) -> None:
        """Set the run's summary values."""
        if self._run is not None:
            self._run.summary.update(values)


@contextmanager
def track(
    logger: DictConfig, *, folder: Path, run_id: str, name: str, group: str, tags: list[str], config: dict[str, Any]
) -> Iterator[Tracker]:
    """Follow one run. With `logger=csv` nothing is sent anywhere.

    Parameters
    ----------
    logger : DictConfig
        The composed `logger` group.
    folder : Path
        The run's folder; offline files lie under it.
    run_id : str
        Unique for this attempt at this run, so that a repeated run never appends to an old one.
    name, group, tags
        How it is shown.
    config : dict
        The run's resolved configuration.
    """
    if logger.name != "wandb":
        yield Tracker(None)
        return
    import wandb

    try:
        run = wandb.init(
            project=logger.project,
            entity=logger.entity,
            mode=_mode(logger.mode),
            dir=folder,
            id=run_id,
            name=name,
            group=group,
            tags=[*tags, *logger.tags],
            job_type="train",
            config=config,
            reinit="create_new",  # the run belongs to this call, not to the process
            settings=wandb.Settings(console="off", silent=True),
        )
    except (wandb.Error, ValidationError) as error:
        problem = reason(error) if isinstance(error, ValidationError) else str(error).splitlines()[0]
        raise InputError(f"logger=wandb: {problem}; write logger.mode=offline to go on without a connection") from error
    exit_code = 1
    try:
        yield Tracker(run)
        exit_code = 0
    finally:
        run.finish(exit_code=exit_code)


def _mode(asked: Literal["auto", "online", "offline"]) -> Literal["online", "offline", "disabled"]:
    """Online only where a key is configured: W&B would prompt for one otherwise."""
    if asked != "auto":
        return asked
    import wandb

    forced = os.environ.get("WANDB_MODE")
    if forced in ("online", "offline", "disabled"):
        return forced  # type: ignore[return-value]
    return "online" if wandb.login(prompt=False, verify=False) else "offline"
