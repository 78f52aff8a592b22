"""A run again: `from=FOLDER` puts the groups of its `config.yaml` in place; what stands beside it comes after it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, open_dict

from llp.config.own_datasets import literal
from llp.config.targets import check_origin, packages_of, targets_in
from llp.errors import InputError, choice, invalid
from llp.files import read_yaml

OPTION = "from"
IDENTITY = ("dataset", "grouping_key", "method", "model", "optimizer", "trainer", "protocol", "fold", "seed")
"""Groups that are hashed into a run's identity and are in its config.yaml: no folders, hardware or logger."""

CHOSEN = ("noise",)
"""Groups of the identity that are there where they are chosen alone: a run without one has the hash that it had."""


def identity_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a config's content that identifies a run."""
    found = {name: content[name] for name in IDENTITY} | {name: content[name] for name in CHOSEN if name in content}
    if isinstance(noise := found.get("noise"), Mapping):  # as before there were these options
        before = (("neighbours", "label"), ("shares", None))
        found["noise"] = {name: value for name, value in noise.items() if (name, value) not in before}
    if isinstance(found.get("method"), Mapping):
        found["method"] = _method_of(found["method"])
    return found


def _method_of(method: Mapping[str, Any]) -> dict[str, Any]:
    """A method's options, and its first stage's, as they were before `cell_glm` had families."""
    before = (("family", "auto"), ("exposure", None)) if str(method.get("_target_")).endswith(".CellGLM") else ()
    kept = {name: value for name, value in method.items() if (name, value) not in before}
    return {name: _method_of(value) if isinstance(value, Mapping) else value for name, value in kept.items()}


def run_config(folder: str) -> dict[str, Any]:
    """Read what identifies a run from its folder, or the `config.yaml` in it, every interpolation resolved."""
    path = Path(folder)
    expected = "the folder of a run, with its config.yaml"
    try:
        path = path / "config.yaml" if path.is_dir() else path
        content = read_yaml(path)
    except OSError as error:
        raise invalid(OPTION, folder, f"{expected} ({path}: {error.strerror})", "FOLDER") from None
    except ValueError as error:
        raise invalid(OPTION, folder, f"{expected} ({error})", "FOLDER") from None
    lacking = [name for name in IDENTITY if not isinstance(content, dict) or name not in content]
    if lacking:
        raise invalid(OPTION, folder, f"{expected}; {path} has no {choice(lacking)}", "FOLDER")
    return identity_of(content)


def put_in_place(config: DictConfig, folder: str, chosen: Collection[str]) -> None:
    """Replace a composed config's groups, in place, by those of a run, unless their choice is on the command line."""
    content = run_config(folder)
    named = [target for name in {*content} - {*chosen} for target in targets_in(name, content[name])]
    check_origin(named, packages_of(config), f"{folder}/config.yaml")
    with open_dict(config):
        for name in {*content} - {*chosen}:
            config[name] = literal(content[name])
        config[OPTION] = literal(folder)


def check_beside(override: Override, chosen: Collection[str]) -> None:
    """Refuse options of a dataset that is a run's: the run's config has written out what followed from its options."""
    name = override.key_or_group
    if name.startswith("dataset.") and "dataset" not in chosen:
        raise InputError(
            f"Invalid {name}: expected dataset=NAME beside it, as a run's config.yaml holds what followed from the "
            f"dataset's options, such as dataset=NAME {override.input_line}"
        )
