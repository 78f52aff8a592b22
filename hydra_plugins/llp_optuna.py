"""Hydra's sweeper of this project for Optuna: it searches for the options with the lowest held-out loss."""

import logging
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus, configure_log
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

log = logging.getLogger(__name__)


class OptunaSweeper(Sweeper):
    """Searches for options, see conf/hydra/sweeper/optuna.yaml for its parameters.

    The trials of a batch are trained fold after fold, so that what is worse than the median leaves early. Everything
    is in the storage: a search that was cut off trains its open trials first, whose finished runs are skipped.
    """

    def __init__(self, params: DictConfig | None, **options: Any) -> None:
        self._params: dict[str, Any] = {str(name): values for name, values in (params or {}).items()}
        self._options = options
        self._ended: list[tuple[list[str], JobReturn]] = []

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """See `Sweeper.setup`."""
        self._loader: Any = hydra_context.config_loader
        self._config = config
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """See `Sweeper.sweep`."""
        from llp.config.launchers import check_storage
        from llp.errors import InputError
        from llp.files import locked
        from llp.runs.failures import end_of_grid

        configure_log(self._config.hydra.hydra_logging, self._config.hydra.verbose)
        try:
            self._check()
            storage = Path(self._options["storage"])
            check_storage(storage)
            with locked(storage.with_name(f".{storage.name}.lock"), "another search is at work"):
                self._search(arguments, storage)
        except InputError as error:
            sys.exit(str(error))
        if end := end_of_grid([point for point, _ in self._ended], [job for _, job in self._ended]):
            sys.exit(end)

    def _check(self) -> None:
        from llp.config.launchers import SearchOptions, check_plugin
        from llp.errors import InputError, invalid

        check_plugin("hydra.sweeper", SearchOptions, self._options)
        try:
            import optuna
        except ImportError:
            need = "Optuna, which is not installed: pip install 'llp-bench[optuna]'"
            raise InputError(f"hydra/sweeper=optuna needs {need}") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        name = self._config.protocol.name
        if name != "holdout":
            raise invalid("protocol", name, "holdout in a search, which may not look at test labels", "holdout")

    def _search(self, arguments: Sequence[str], storage: Path) -> None:
        from llp.runs.search import Search, written_params

        given = [f"{name}={values}" for name, values in self._params.items()]
        parser = OverridesParser.create(config_loader=self._loader)
        search = Search.of(parser.parse_overrides([*given, *arguments]))
        study = self._study(search.name, storage)
        while (left := self._options["n_trials"] - _ended(study)) > 0:
            study.sampler = self._sampler(len(study.trials))
            trials = [study.ask(search.space) for _ in range(min(left, self._options["at_once"]))]
            self._run(study, search, trials)
        if not any(trial.state.name == "COMPLETE" for trial in study.trials):
            return
        best = written_params(study.best_trial.params)
        log.info("best of %d trials, held-out loss %.6f: %s", _ended(study), study.best_value, " ".join(best))
        folder = Path(self._config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save({"held_out": study.best_value, "overrides": best}, folder / "best.yaml")

    def _study(self, name: str, storage: Path) -> Any:
        """The search as it was left; trials that were cut off are put first."""
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        prune = self._options["prune"]
        startup = self._options["startup_trials"]
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(storage))),
            study_name=name,
            pruner=optuna.pruners.MedianPruner(startup) if prune else optuna.pruners.NopPruner(),
            load_if_exists=True,
        )
        for trial in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):
            study.enqueue_trial(trial.params)
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        return study

    def _sampler(self, asked: int) -> Any:
        """A sampler whose draws depend on how far the search is, and not on how often it was started."""
        from optuna.samplers import TPESampler

        options = self._options
        return TPESampler(
            seed=options["seed"] + asked,
            n_startup_trials=options["startup_trials"],
            constant_liar=options["at_once"] > 1,
        )

    def _run(self, study: Any, search: Any, trials: Sequence[Any]) -> None:
        """Train trials, fold after fold, and tell the study what they reached."""
        from optuna.trial import TrialState

        from llp.config.points import Multirun
        from llp.runs.grid import points_to_launch
        from llp.runs.search import written_params

        values: dict[int, list[float]] = {trial.number: [] for trial in trials}
        alive = list(trials)
        for repeat in range(len(search.repeats)):
            points = [search.run(trial.params, repeat) for trial in alive]
            multirun = Multirun(self._loader, self._config)
            points_to_launch(multirun, points, record=False)  # refuses options that cannot be
            jobs = self._launcher.launch(points, initial_job_idx=len(self._ended)) if points else []
            self._ended += zip(points, jobs, strict=True)
            for trial, job in zip(list(alive), jobs, strict=True):
                value = job.return_value if job.status == JobStatus.COMPLETED else None
                if not (isinstance(value, float) and math.isfinite(value)):
                    trial.set_user_attr("failed", " ".join(search.repeats[repeat]))
                    study.tell(trial, state=TrialState.FAIL)
                    alive.remove(trial)
                    continue
                values[trial.number].append(value)
                trial.report(sum(values[trial.number]) / (repeat + 1), repeat)
                if repeat + 1 < len(search.repeats) and trial.should_prune():
                    log.info("trial %d is left after %d runs", trial.number, repeat + 1)
                    study.tell(trial, state=TrialState.PRUNED)
                    alive.remove(trial)
        for trial in alive:
            reached = sum(values[trial.number]) / len(values[trial.number])
            log.info("trial %d: held-out loss %.6f: %s", trial.number, reached, " ".join(written_params(trial.params)))
            study.tell(trial, reached)


def _ended(study: Any) -> int:
    """How many trials a search has had; those that were cut off are done again and count once."""
    return sum(
        trial.state.name in ("COMPLETE", "PRUNED") or "failed" in trial.user_attrs
        for trial in study.get_trials(deepcopy=False)
    )
