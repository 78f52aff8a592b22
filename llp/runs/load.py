"""Trained models and methods of finished runs, from their folders, wherever these come from."""

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llp.config.sources import plugins
from llp.config.targets import GIVEN, METADATA, check_target, instantiate
from llp.data.table import InstanceTable
from llp.errors import InputError, first_line
from llp.files import is_intact, is_whole, read_yaml

if TYPE_CHECKING:  # torch and Lightning take seconds to import; a finished run is skipped without them
    from torch import nn

    from llp.methods.base import LLPMethod

log = logging.getLogger(__name__)

FINAL, CHOSEN = "best.pt", "chosen.pt"
"""Kept weights: of the final model; where it was trained again, also those of the chosen epoch, beside them."""


def load_weights(model: "nn.Module", folder: Path, name: str = FINAL) -> None:
    """Put `checkpoints/<name>` of a finished run into a model; InputError if none, damaged or another model's."""
    path = _weights_path(folder, name)
    if problem := _problem(model, path):
        again = "" if problem == _OTHERS else "; train that run again with force=true save_model=true"
        raise InputError(f"{path} {problem}{again}")


def serves(model: "nn.Module", path: Path) -> bool:
    """Whether a file's kept weights are whole and the model's, which takes them over; logs what they are otherwise."""
    problem = _problem(model, path) if path.is_file() else "is missing"
    if problem:
        log.warning("%s %s: the run is done again", path, problem)
    return not problem


_OTHERS = "was trained on another table or with another model: its weights differ"


def _problem(model: "nn.Module", path: Path) -> str:
    """Put the weights of a file into a model; what is wrong with them, or nothing."""
    import torch

    from llp.models.label_start import NAME, add_label_start, label_start_of
    from llp.ops.finite import all_finite

    if not is_intact(path):
        return "is damaged"
    try:
        weights = torch.load(path, weights_only=True)
    except Exception as error:  # whatever torch makes of a foreign file
        return f"holds no weights ({first_line(error)})"
    try:
        if label_start_of(model) is None and any(name.startswith(f"{NAME}.") for name in weights):
            add_label_start(model)
        model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError):
        return _OTHERS
    finite = all(all_finite(weight) for weight in model.parameters())
    return "" if finite else "holds weights that are not finite"


def _weights_path(folder: Path, name: str = FINAL) -> Path:
    path = folder / "checkpoints" / name
    if not is_whole(path):
        raise InputError(f"{folder} holds no kept weights (checkpoints/{name}): train that run with save_model=true")
    return path


def load_model(folder: Path, table: InstanceTable) -> "nn.Module":
    """The trained model of a run's folder, of `llp.models` or a plug-in alone: config.yaml could name anything."""
    _weights_path(folder)
    given = {"vocab_sizes": table.vocab_sizes, "n_numeric": table.n_numeric}
    node = _own_node(folder, "model")
    check_target("model", node, GIVEN["model"])
    model: nn.Module = instantiate("model", node, **given)
    load_weights(model, folder)
    return model


def load_method(folder: Path, table: InstanceTable) -> "LLPMethod":
    """The trained method of a run's folder, for scoring; as safe as `load_model`."""
    from torch.optim import Adam

    node = _own_node(folder, "method")
    kind: Any = check_target("method", node, GIVEN["method"])
    if not (kind.trains or kind.solves):
        raise InputError(f"{folder} is a run of {kind.__name__}, which trains no model that could score other rows")
    given = {"model": load_model(folder, table), "optimizer": Adam, "label_kind": table.label_kind, "seed": 0}
    method: LLPMethod = instantiate("method", node, **given)
    return method.eval()


def _own_node(folder: Path, group: str) -> dict[str, Any]:
    """Class and options that a run's config names for a group: plain, and ours or a plug-in's; or InputError."""
    try:
        content = read_yaml(folder / "config.yaml")[group]
        node = {name: value for name, value in content.items() if name not in METADATA}
        path = str(node["_target_"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{folder} holds no config.yaml of a run: {first_line(error)}") from None
    options = [(name, value) for name, value in node.items() if name != "_target_"]
    homes = "|".join([rf"llp\.{group}s\.\w+", *(rf"{re.escape(one)}(\.\w+)*" for one in plugins())])
    if not (re.fullmatch(rf"({homes})\.\w+", path) and all(map(_is_plain, options))):
        raise InputError(
            f"{folder}/config.yaml names the {group} {path}: a {group} is made from a run's folder only if it is a "
            f"class of llp.{group}s or of a plug-in and its options are numbers, texts or lists of them"
        )
    return node


def _is_plain(option: tuple[str, Any]) -> bool:
    name, value = option
    if isinstance(value, list):
        return all(_is_plain((name, one)) for one in value)
    return not name.startswith("_") and isinstance(value, int | float | str | None)
