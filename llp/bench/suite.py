"""The open suite by one command: `python -m llp.bench.suite [OVERRIDE ...]`.

For each of its two experiments, labels 0 and 1 and real ones: every method with each learning rate on fold 0, then all
folds and seeds at the rate whose held-out loss was least there. What is finished is not trained again, so the same
command goes on where it was cut off. `bag_dataset=NAME,NAME` trains a part; other overrides go to every multirun.
"""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
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


def swept(experiment: str) -> dict[str, list[str]]:
    """The values of each option that an experiment sweeps over."""
    params = OmegaConf.load(CONF_DIR / "experiment" / f"{experiment}.yaml").hydra.sweeper.params
    return {str(name): str(values).split(",") for name, values in params.items()}


def parts_of(asked: Sequence[str] | None) -> dict[str, list[str]]:
    """By experiment, those of its bag datasets that are asked for; all by default.

    Raises
    ------
    InputError
        No experiment has one that is asked for.
    """
    parts = {experiment: swept(experiment)["bag_dataset"] for experiment in EXPERIMENTS}
    known = [name for names in parts.values() for name in names]
    for name in asked or ():
        if name not in known:
            raise invalid("bag_dataset", name, choice(known), nearest(name, known))
    kept = {one: [name for name in names if asked is None or name in asked] for one, names in parts.items()}
    return {experiment: names for experiment, names in kept.items() if names}


def searching(experiment: str, bag_datasets: Sequence[str]) -> list[str]:
    """Arguments of the multirun that searches for the rates."""
    own = [f"bag_dataset={','.join(bag_datasets)}", f"optimizer.lr={','.join(RATES)}"]
    return ["-m", f"experiment={experiment}", *own, "fold=0", "seed=0"]


def at_chosen_rates(
    experiment: str, bag_datasets: Sequence[str], rate_of: dict[tuple[str, str, str], str]
) -> list[list[str]]:
    """Arguments of the multiruns that train all folds and seeds, one for each bag dataset and rate.

    Parameters
    ----------
    experiment : str
        Its name.
    bag_datasets : sequence of str
        Those of its bag datasets that are trained.
    rate_of : dict
        The chosen rate by dataset, grouping key and method; a method without one, as it trains nothing, has the first.
    """
    multiruns = []
    for bag_dataset in bag_datasets:
        config = _composed(f"bag_dataset={bag_dataset}")
        methods: dict[str, list[str]] = defaultdict(list)
        for method in swept(experiment)["method"]:
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
    """Train the suite, or the bag datasets of it that are asked for."""
    register()
    asked = [one.partition("=")[2].split(",") for one in sys.argv[1:] if one.startswith("bag_dataset=")]
    overrides = [one for one in sys.argv[1:] if not one.startswith("bag_dataset=")]
    places = [one for one in overrides if one.startswith("outputs_dir=")]
    outputs_dir = Path(_composed(*places).outputs_dir)
    try:
        parts = parts_of(asked[-1] if asked else None)
    except InputError as error:
        sys.exit(str(error))
    for experiment, bag_datasets in parts.items():
        _train(searching(experiment, bag_datasets), overrides)
        _, chosen = at_held_out_rates(collect(outputs_dir))
        rate_of = {(one.dataset, one.grouping_key, one.method): one.rate for one in chosen}
        for multirun in at_chosen_rates(experiment, bag_datasets, rate_of):
            _train(multirun, overrides)


if __name__ == "__main__":
    main()
