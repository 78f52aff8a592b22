"""Weights & Biases: one run of theirs per run of ours, finished with its outcome whatever happens."""

import logging
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from llp.config.schema import CSVLogger, WandBLogger, WandBProject
from llp.errors import InputError, first_line
from llp.files import read_small, write_atomically
from llp.runs.identity import Run

if TYPE_CHECKING:  # Lightning takes seconds to import
    pass

TAG_LENGTH = 64  # characters; W&B refuses longer ones

log = logging.getLogger(__name__)


@contextmanager
def track(
    logger: CSVLogger | WandBLogger, run: Run, attempt: int, metric: tuple[str, Literal["max", "min"]]
) -> Iterator[Any | None]:
    """Follow one run, by an id of its attempt and folder: W&B takes none twice; with `logger=csv` nothing is sent."""
    if isinstance(logger, CSVLogger):
        yield None
        return
    name, better = metric
    cell, of_cell = run.point[:3], [f"fold={run.point.fold}", f"seed={run.point.seed}"]
    tags = [*cell, *of_cell, str(run.config["protocol"]["name"])]
    with open_run(
        logger,
        run.folder,
        id=f"{run.hash}-{attempt}-{_unique_part(run.folder)}",
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


def _unique_part(folder: Path) -> str:
    """Eight hexadecimal digits, the same ones for all attempts in a folder."""
    path = folder / "wandb" / "unique"
    with suppress(OSError, ValueError):
        if re.fullmatch("[0-9a-f]{8}", known := read_small(path).decode()):
            return known
    made = secrets.token_hex(4)
    write_atomically(path, lambda temporary: temporary.write_text(made))
    return made


def wandb_mode(asked: Literal["auto", "online", "offline"]) -> Literal["online", "offline", "disabled"]:
    """Online only where a key is configured: W&B would prompt for one otherwise."""
    if asked != "auto":
        return asked
    import wandb

    forced = os.environ.get("WANDB_MODE")
    if forced in ("online", "offline", "disabled"):
        return forced  # type: ignore[return-value]
    return "online" if wandb.login(prompt=False, verify=False) else "offline"
