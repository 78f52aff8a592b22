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

from omegaconf import OmegaConf

from llp.command import command
from llp.config.command_line import make_parsable, parse_words
from llp.config.complaints import nearest
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from llp.config.points import Multirun
from llp.errors import InputError, choice, invalid
from llp.results.collect import collect_records
from llp.results.rates import at_held_out_rates
from llp.runs.book import PointState
from llp.runs.grid import asked_points

EXPERIMENTS = ("suite", "suite_real")
RATES = ("1e-4", "3e-4", "1e-3", "3e-3")
OF_PART = ("bag_dataset", "method")
SECONDS_TO_STOP = 20.0
"""That a multirun is given to stop its runs."""


def swept(experiment: str) -> dict[str, list[str]]:
    """The values of each option that an experiment sweeps over."""
    params = OmegaConf.load(CONF_DIR / "experiment" / f"{experiment}.yaml").hydra.sweeper.params
    return {str(name): str(values).split(",") for name, values in params.items()}


def searches(arguments: Sequence[str]) -> list[list[str]]:
    """Arguments of the multiruns that search for the rates, of each experiment that has what is asked for.

    Raises
    ------
    InputError
        An argument is wrong, no experiment has it beside the others, or it has several values that rates depend on.
    """
    asked, overrides = dict[str, list[str]](), list[str]()
    for one in parse_words(arguments):
        option, values = one.key_or_group, str(one.input_line).partition("=")[2]
        if option in asked:
            raise invalid(option, values, "the option once", f"{option}={','.join([*asked[option], values])}")
        if option in OF_PART:
            asked[option] = values.split(",")
        elif one.is_sweep_override() and option not in ("fold", "seed"):
            raise invalid(option, values, "one value, as the rates of several are not told apart")
        else:
            overrides.append(str(one.input_line))
    parts = {experiment: _part(experiment, asked) for experiment in EXPERIMENTS}
    fit = {experiment: part for experiment, part in parts.items() if all(part.values())} or parts
    for option, names in asked.items():
        known = list(dict.fromkeys(name for experiment in fit for name in swept(experiment)[option]))
        for name in names:
            if not any(name in part[option] and all(part.values()) for part in fit.values()):
                raise invalid(option, name, f"of the rest that is asked for {choice(known)}", nearest(name, known))
    found = []
    for experiment, part in fit.items():
        own = [f"{option}={','.join(names)}" for option, names in part.items()]
        rates = f"optimizer.lr={','.join(RATES)}"
        found.append([f"experiment={experiment}", *own, rates, "fold=0", "seed=0", *overrides])
        asked_points(found[-1])  # says what is wrong before anything is trained
    return found


def _part(experiment: str, asked: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Those of an experiment's bag datasets and methods that are asked for; all by default."""
    own = swept(experiment)
    return {option: [name for name in own[option] if name in asked.get(option, own[option])] for option in OF_PART}


def at_chosen_rates(
    search: Sequence[str], points: Iterable[Sequence[str]], states: Sequence[PointState]
) -> list[list[str]]:
    """Arguments of the multiruns that train all folds and seeds, one for each bag dataset and rate.

    Of what trains, a report's choice among the search's runs: the rate with the least held-out loss. A method that
    trains nothing has the first rate.

    Parameters
    ----------
    search : sequence of str
        The search's arguments.
    points, states
        The overrides of its points, and what became of each.
    """
    records = [one.record for one in states if one.record is not None]
    found = collect_records((record, Path(str(number))) for number, record in enumerate(records))
    rate_of = {(one.dataset, one.grouping_key, one.method): one.rate for one in at_held_out_rates(found)[1]}
    methods: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for overrides, state in zip(points, states, strict=True):
        options = dict(one.split("=", 1) for one in overrides)
        methods[options["bag_dataset"], rate_of.get(state.point[:3], RATES[0])][options["method"]] = None
    others = search[len(OF_PART) + 4 :]
    return [
        [search[0], f"bag_dataset={bag_dataset}", f"method={','.join(names)}", f"optimizer.lr={rate}", *others]
        for (bag_dataset, rate), names in methods.items()
    ]


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
        found = searches(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
    for search in found:
        _train(search)
        for multirun in at_chosen_rates(search, Multirun.of(search).points(), asked_points(search)):
            _train(multirun)


if __name__ == "__main__":
    main()
