"""The open suite by one command: `python -m llp.bench.suite [OVERRIDE ...]`.

For each of its two experiments, labels 0 and 1 and real ones: every method with each learning rate on fold 0, then all
folds and seeds at the rate whose held-out loss was least there. What is finished is not trained again, so the same
command goes on where it was cut off. `bag_dataset=NAME,NAME` trains a part; other overrides go to every multirun.
"""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, grouping_key
from llp.config.options import nearest
from llp.errors import InputError, choice, invalid
from llp.results.collect import collect
from llp.results.rates import at_held_out_rates

EXPERIMENTS = ("suite", "suite_real")
RATES = ("1e-4", "3e-4", "1e-3", "3e-3")
OF_PART = ("bag_dataset", "method")

SuitePart = Mapping[str, Sequence[str]]
"""The bag datasets and the methods of an experiment that are trained."""


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


def searching(experiment: str, part: SuitePart) -> list[str]:
    """Arguments of the multirun that searches for the rates."""
    own = [f"{option}={','.join(names)}" for option, names in part.items()]
    return ["-m", f"experiment={experiment}", *own, f"optimizer.lr={','.join(RATES)}", "fold=0", "seed=0"]


def at_chosen_rates(experiment: str, part: SuitePart, rate_of: dict[tuple[str, str, str], str]) -> list[list[str]]:
    """Arguments of the multiruns that train all folds and seeds, one for each bag dataset and rate.

    Parameters
    ----------
    experiment : str
        Its name.
    part : mapping
        Those of its bag datasets and methods that are trained.
    rate_of : dict
        The chosen rate by dataset, grouping key and method; a method without one, as it trains nothing, has the first.
    """
    multiruns = []
    for bag_dataset in part["bag_dataset"]:
        config = _composed(f"bag_dataset={bag_dataset}")
        methods: dict[str, list[str]] = defaultdict(list)
        for method in part["method"]:
            place = (str(config.dataset.name), grouping_key(config).name, method)
            methods[rate_of.get(place, RATES[0])].append(method)
        for rate, names in methods.items():
            own = [f"bag_dataset={bag_dataset}", f"method={','.join(names)}", f"optimizer.lr={rate}"]
            multiruns.append(["-m", f"experiment={experiment}", *own])
    return multiruns


def _composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        return compose("train", [*overrides])


def _train(arguments: Sequence[str], overrides: Sequence[str]) -> None:
    code = subprocess.run([sys.executable, "-m", "llp.train", *arguments, *overrides], check=False).returncode
    if code:
        sys.exit(code)


def main() -> None:
    """Train the suite, or the part of it that is asked for."""
    register()
    given = [(one.partition("=")[0], one) for one in sys.argv[1:]]
    asked = {option: one.partition("=")[2].split(",") for option, one in given if option in OF_PART}
    overrides = [one for option, one in given if option not in OF_PART]
    places = [one for one in overrides if one.startswith("outputs_dir=")]
    outputs_dir = Path(_composed(*places).outputs_dir)
    try:
        parts = parts_of(asked)
    except InputError as error:
        sys.exit(str(error))
    for experiment, part in parts.items():
        _train(searching(experiment, part), overrides)
        _, chosen = at_held_out_rates(collect(outputs_dir))
        rate_of = {(one.dataset, one.grouping_key, one.method): one.rate for one in chosen}
        for multirun in at_chosen_rates(experiment, part, rate_of):
            _train(multirun, overrides)


if __name__ == "__main__":
    main()
