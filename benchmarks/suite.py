"""The open suite by one command: `python -m benchmarks.suite [OVERRIDE ...]`.

For each of its two experiments, labels 0 and 1 and real ones: every method with each learning rate on fold 0, then all
folds and seeds at the rate whose held-out loss was least there. What is finished is not trained again, so the same
command resumes where it was cut off. `bag_dataset=NAME,NAME` and `method=NAME,NAME` train a part; other overrides, of
one value each but fold and seed, go to every multirun.
"""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from llp.command import command
from llp.config.checks import check_config
from llp.config.command_line import make_parsable, parse_words
from llp.config.commands import TrainConfig
from llp.config.complaints import nearest
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from llp.config.points import Multirun
from llp.errors import InputError, choice, invalid
from llp.results.collect import collect_records
from llp.results.rates import at_held_out_rates
from llp.runs.grid import asked_points
from llp.runs.record import RunRecord

EXPERIMENTS = ("suite", "suite_real")
RATES = ("1e-4", "3e-4", "1e-3", "3e-3")
OF_PART = ("bag_dataset", "method")
SECONDS_TO_STOP = 20.0
"""That a multirun is given to stop its runs."""

SuitePart = Mapping[str, Sequence[str]]
"""The bag datasets and the methods of an experiment that are trained."""
SuitePoint = tuple[str, str, str]
"""Dataset, grouping key and method."""


def swept(experiment: str) -> dict[str, list[str]]:
    """The values of each option that an experiment sweeps over."""
    params = OmegaConf.load(CONF_DIR / "experiment" / f"{experiment}.yaml").hydra.sweeper.params
    return {str(name): str(values).split(",") for name, values in params.items()}


def parts_of(asked: SuitePart) -> dict[str, SuitePart]:
    """By experiment, what is asked for of its bag datasets and methods; all by default.

    Raises
    ------
    InputError
        No experiment has one that is asked for, on or with one of the others.
    """
    whole = {experiment: {option: swept(experiment)[option] for option in OF_PART} for experiment in EXPERIMENTS}
    parts = {
        experiment: {option: [one for one in names if one in asked.get(option, names)] for option, names in own.items()}
        for experiment, own in whole.items()
    }
    for option, names in asked.items():
        others = [other for other in asked if other != option]
        fit = [one for one, own in parts.items() if all(own[other] for other in others)]
        known = list(dict.fromkeys(name for experiment in fit for name in whole[experiment][option]))
        for name in names:
            if name not in known:
                raise invalid(option, name, choice(known), nearest(name, known))
    return {experiment: part for experiment, part in parts.items() if all(part.values())}


def read_arguments(arguments: Sequence[str]) -> tuple[dict[str, SuitePart], list[str]]:
    """What is asked for of each experiment, and the overrides that go to every multirun.

    Raises
    ------
    InputError
        An argument is wrong, is given twice, or has several values and is neither a part's option, nor fold nor seed.
    """
    asked, overrides = dict[str, list[str]](), list[str]()
    for override in parse_words(arguments):
        option, values = override.key_or_group, str(override.input_line).partition("=")[2]
        if option in OF_PART:
            if option in asked:
                raise invalid(option, values, "the option once", f"{option}={','.join([*asked[option], values])}")
            asked[option] = values.split(",")
            continue
        if override.is_sweep_override() and option not in ("fold", "seed"):
            raise invalid(option, values, "one value, as the rates of several are not told apart")
        overrides.append(str(override.input_line))
    parts = parts_of(asked)
    for experiment, part in parts.items():
        Multirun.of([*searching(experiment, part), *overrides])  # says what is wrong before anything is trained
    return parts, overrides


def searching(experiment: str, part: SuitePart) -> list[str]:
    """Arguments of the multirun that searches for the rates."""
    own = [f"{option}={','.join(names)}" for option, names in part.items()]
    return [f"experiment={experiment}", *own, f"optimizer.lr={','.join(RATES)}", "fold=0", "seed=0"]


def chosen_rates(records: Iterable[RunRecord]) -> dict[SuitePoint, str]:
    """The rates that a report chooses among a search's runs: of what trains, that with the least held-out loss."""
    found = collect_records((record, Path(str(number))) for number, record in enumerate(records))
    return {(one.dataset, one.grouping_key, one.method): one.rate for one in at_held_out_rates(found)[1]}


def at_chosen_rates(experiment: str, part: SuitePart, rate_of: Mapping[SuitePoint, str]) -> list[list[str]]:
    """Arguments of the multiruns that train all folds and seeds, one for each bag dataset and rate.

    Parameters
    ----------
    experiment : str
        Its name.
    part : mapping
        Those of its bag datasets and methods that are trained.
    rate_of : mapping
        The chosen rate of each dataset, grouping key and method; a method without one, as it trains nothing, has the
        first.
    """
    multiruns = []
    for bag_dataset in part["bag_dataset"]:
        config = _composed(f"bag_dataset={bag_dataset}", f"method={part['method'][0]}")
        methods: dict[str, list[str]] = defaultdict(list)
        for method in part["method"]:
            place = (str(config.dataset.name), config.grouping_key.name, method)
            methods[rate_of.get(place, RATES[0])].append(method)
        for rate, names in methods.items():
            own = [f"bag_dataset={bag_dataset}", f"method={','.join(names)}", f"optimizer.lr={rate}"]
            multiruns.append([f"experiment={experiment}", *own])
    return multiruns


def _composed(*overrides: str) -> TrainConfig:
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        return check_config(compose("train", [*overrides]), TrainConfig)


def _train(arguments: Sequence[str]) -> None:
    with subprocess.Popen([sys.executable, "-m", "llp.train", "-m", *arguments]) as process:
        try:
            code = process.wait()
        except signals.Stopped as end:
            if end.number == signal.SIGTERM:  # a terminal's Ctrl+C reaches both
                process.terminate()
            end.told = _ended(process) == end.code
            raise
    if code:
        sys.exit(code)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The code of a process that was asked to end, or is now."""
    try:
        return process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.terminate()
        return process.wait()


@command
def main() -> None:
    """Train the suite, or the part of it that is asked for."""
    if {"-h", "--help"} & {*sys.argv}:
        print(__doc__)
        return
    register()
    make_parsable()
    try:
        parts, overrides = read_arguments(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
    for experiment, part in parts.items():
        search = [*searching(experiment, part), *overrides]
        _train(search)
        rates = chosen_rates(one.record for one in asked_points(search) if one.record is not None)
        for multirun in at_chosen_rates(experiment, part, rates):
            _train([*multirun, *overrides])


if __name__ == "__main__":
    main()
