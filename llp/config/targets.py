"""The options of what a config's `_target_`s name, checked by type hints before anything is built."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from llp.config.options import check_options, find_target

# of a method or model; not its constructor's
METADATA = ("name", "labels", "first_stage", "keep_model", "by_label_kind")
GIVEN = {  # parameters that the program fills
    "model": ("vocab_sizes", "n_numeric"),
    "optimizer": (),  # its first one, once there are weights
    "method": ("model", "optimizer", "label_kind", "seed"),
}


def constructor_options(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node without what only the program reads."""
    return {name: value for name, value in node.items() if name not in METADATA}


def check_target(group: str, node: Mapping[str, Any], given: tuple[str, ...]) -> Callable[..., Any]:
    """Find what a node names and check the node's options by its type hints; returns it.

    Raises
    ------
    InputError
        It is not there, or an option is wrong, unknown or missing.
    """
    target = find_target(group, node["_target_"])
    later = tuple(inspect.signature(target).parameters)[:1] if node.get("_partial_") else ()
    check_options(group, target, node, (*given, *later))
    return target


def check_preparation(dataset: Mapping[str, Any]) -> Callable[..., Any]:
    """Check what a dataset's `prepare` is given; returns the function.

    An option that the dataset has under its own name, as dataset.label, is told by that one.
    """
    options = {name: value for name, value in dataset["prepare"].items() if name != "_target_"}
    function = find_target("dataset.prepare", dataset["prepare"]["_target_"])
    own = {name: value for name, value in options.items() if dataset.get(name) == value}
    others = {name: value for name, value in options.items() if name not in own}
    for group, checked, rest in (("dataset", own, others), ("dataset.prepare", others, own)):
        check_options(group, function, checked, ("folder", "made_by", "raw", "errors", *rest))
    return function


def check_targets(content: Mapping[str, Any]) -> None:
    """Check method, model, optimizer and the dataset's preparation of a config's plain content.

    It imports torch, which takes seconds: not for a run that is finished.
    """
    check_preparation(content["dataset"])
    for group, given in GIVEN.items():
        check_target(group, constructor_options(content[group]), given)
    first = content["method"].get("first_stage")
    if first is not None:
        check_target("method.first_stage", constructor_options(first), GIVEN["method"])
