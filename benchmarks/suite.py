"""The open suite by one command: `python -m benchmarks.suite [OVERRIDE ...]`.

Its two experiments, labels 0 and 1 and real ones: one method a family on all folds and seeds. What is finished is not
trained again, so the same command resumes where it was cut off. `bag_dataset=NAME,NAME` and `method=NAME,NAME` train a
part: any method that fits the labels, of a plug-in too. `experiment=NAME` trains another one that sweeps over both. All
else goes to every multirun.
"""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence

from hydra.types import RunMode
from omegaconf import OmegaConf

from llp.command import command
from llp.config.command_line import make_parsable, parse_words
from llp.config.commands import TrainConfig
from llp.config.composition import CheckedLoader, register
from llp.config.grouping_keys import CONF_DIR, options
from llp.config.points import Multirun
from llp.config.sources import plugins, search_path
from llp.config.validation import validate
from llp.errors import InputError, choice, invalid, nearest

EXPERIMENTS = ("suite", "suite_real")
OF_PART = ("bag_dataset", "method")
SECONDS_TO_STOP = 20.0
"""That a multirun is given to stop its runs."""


def multiruns(arguments: Sequence[str]) -> list[list[str]]:
    """Arguments of the multiruns that train what is asked for, one for each experiment.

    Raises
    ------
    InputError
        An argument is wrong, or no experiment has what is asked for beside the rest.
    """
    asked, others = dict[str, list[str]](), dict[str, str]()
    for one in parse_words(arguments):
        option, values = one.key_or_group, str(one.input_line).partition("=")[2]
        if option in (*asked, *others):
            raise invalid(option, values, "the option once", f"{option}={','.join([*asked.get(option, ()), values])}")
        if option in (*OF_PART, "experiment"):
            asked[option] = values.split(",")
        else:
            others[option] = str(one.input_line)
    found, trained = [], set[str]()
    swept = {one: _swept(one, [*others.values()]) for one in asked.pop("experiment", EXPERIMENTS)}
    known = {
        "bag_dataset": [name for sweep in swept.values() for name in sweep["bag_dataset"]],
        "method": options("method", [CONF_DIR, *plugins().values()]),
    }
    for option, names in asked.items():
        for name in {*names} - {*known[option]}:
            raise invalid(option, name, choice(known[option]), nearest(name, known[option]))
    for experiment, sweep in swept.items():
        bags = [name for name in asked.get("bag_dataset", sweep["bag_dataset"]) if name in sweep["bag_dataset"]]
        kinds = _label_kinds(sweep["method"])
        methods = [name for name in asked.get("method", sweep["method"]) if bags and kinds <= _label_kinds([name])]
        if methods:
            trained |= {*methods, *bags}
            own = [f"bag_dataset={','.join(bags)}", f"method={','.join(methods)}"]
            found.append([f"experiment={experiment}", *own, *others.values()])
            point = {"fold": "fold=0", "seed": "seed=0", **others}.values()
            # one point says what is wrong before anything is trained
            first = _multirun(f"experiment={experiment}", f"bag_dataset={bags[0]}", f"method={methods[0]}", *point)
            validate(first.compose(first.points()[0]), TrainConfig)
    for option, names in asked.items():
        for name in {*names} - trained:
            raise invalid(option, name, "one whose labels are of the kind of the rest that is asked for")
    return found


def _multirun(*arguments: str) -> Multirun:
    loader = CheckedLoader(search_path())
    given = [*arguments, "hydra.job.name=train"]
    return Multirun(loader, loader.load_configuration("train", given, RunMode.MULTIRUN, from_shell=False))


def _swept(experiment: str, overrides: Sequence[str]) -> dict[str, list[str]]:
    """The bag datasets and methods that an experiment sweeps over."""
    params = _multirun(f"experiment={experiment}", *overrides).params
    if missing := {*OF_PART} - params.keys():
        raise invalid("experiment", experiment, f"one that sweeps over {choice(sorted(missing))}", EXPERIMENTS[0])
    return {option: str(params[option]).split(",") for option in OF_PART}


def _label_kinds(methods: Iterable[str]) -> set[str]:
    """The kinds of labels that all of some methods learn from."""
    files = [folder / "method" / f"{name}.yaml" for name in methods for folder in (CONF_DIR, *plugins().values())]
    return set.intersection(*({*OmegaConf.load(path).labels} for path in files if path.is_file()))


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
        found = multiruns(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
    for one in found:
        _train(one)


if __name__ == "__main__":
    main()
