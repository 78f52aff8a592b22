"""The bag datasets of a benchmark as one choice of grouping_key: `benchmark`, `benchmark_random`, `benchmark_fixed`."""

import itertools
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from llp.config.command_line import parse_words
from llp.config.grouping_keys import BAG_SIZES, readings
from llp.config.points import Multirun
from llp.datasets.published import BENCHMARKS, benchmark_keys
from llp.errors import InputError, invalid, plain
from llp.files import folder_name

# of what a dataset's benchmark keeps
CHOICES: Mapping[str, Callable[[Callable[[], list[str]]], list[str]]] = {
    "benchmark": lambda kept: kept(),
    "benchmark_random": lambda _: [f"random_{size}" for size in BAG_SIZES],
    "benchmark_fixed": lambda kept: [f"fixed_{key}_{size}" for key in kept() for size in BAG_SIZES],
}


def expand_choices(multirun: Multirun) -> None:
    """Write the keys of a choice into a multirun's overrides or params; a needed analysis is run."""
    for i, override in enumerate(multirun.overrides):
        if override.startswith("grouping_key="):
            multirun.overrides[i] = f"grouping_key={expand(override.partition('=')[2], multirun)}"
    chosen = any(override.startswith("grouping_key=") for override in multirun.overrides)
    if not chosen and "grouping_key" in multirun.params:
        multirun.params["grouping_key"] = expand(str(multirun.params["grouping_key"]), multirun)


def expand(names: str, multirun: Multirun) -> str:
    """Comma-separated grouping keys, with those that a choice stands for in its place."""
    parts = names.split(",")
    if not set(parts) & set(CHOICES):
        return names
    if any(one.startswith("dataset=") and "," in one for one in multirun.overrides):
        raise invalid("grouping_key", names, "one dataset, whose keys it stands for", "dataset=flights")
    kept = partial(kept_keys, multirun)
    keys = (key for part in parts for key in (map(_quoted, CHOICES[part](kept)) if part in CHOICES else [part]))
    return ",".join(keys)


def _quoted(name: str) -> str:
    """A key's name as an override holds it, whatever the columns' names."""
    if re.fullmatch(r"[A-Za-z][\w-]*", name, re.ASCII) and name.lower() not in ("null", "true", "false", "nan", "inf"):
        return name
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def kept_keys(multirun: Multirun) -> list[str]:
    """The grouping keys of a dataset's benchmark: the published ones, else those that its analysis keeps."""
    import polars as pl

    dataset = multirun.option("dataset.name")
    if dataset in BENCHMARKS:
        return benchmark_keys(dataset)
    path = Path(multirun.option("outputs_dir")) / "analysis" / folder_name(dataset) / "analysis.parquet"
    if not path.is_file():
        _analyze(multirun)
    try:
        rows = pl.read_parquet(path, columns=["grouping_key", "kind", "in_benchmark"], glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read ({str(error).splitlines()[0]}): remove it") from None
    keys: list[str] = rows.filter((pl.col("kind") == "feature") & pl.col("in_benchmark"))["grouping_key"].to_list()
    if not keys:
        raise InputError(f"No grouping key of dataset {dataset} keeps enough instances: see {path}")
    known = [str(column) for column in multirun.option("dataset.key_columns") or []]
    for key in keys:
        if len(ways := list(itertools.islice(readings(key, known), 2))) > 1:
            raise InputError(
                f"Grouping key {key} of dataset {dataset} can be read as {plain(ways[0])} and as "
                f"{plain(ways[1])}: rename a column, or name the keys of the grid, such as "
                f"grouping_key=feature grouping_key.columns={plain(ways[0])}"
            )
    return keys


def _analyze(multirun: Multirun) -> None:
    """Run the analysis of the dataset as it is given, in a process of its own."""
    options = [
        str(one.input_line)
        for one in parse_words(multirun.overrides)
        if one.key_or_group.startswith(("dataset.", "data_dir", "outputs_dir")) and not one.is_sweep_override()
    ]
    dataset = multirun.option("hydra.runtime.choices.dataset")
    command = [sys.executable, "-m", "llp.analyze", f"dataset={dataset}", *options]
    command.append("grouping_key=random_256")  # the dataset's own may have columns that are no key columns here
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise InputError(f"The analysis of dataset {dataset} failed: its grouping keys are not known")
