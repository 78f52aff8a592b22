"""The options of what a config's `_target_`s name, checked by type hints before anything is built."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from llp.config.commands import TrainConfig
from llp.config.options import HYDRAS, check_options, places
from llp.config.own_datasets import MADE_BY
from llp.config.schema import DatasetConfig, MethodConfig
from llp.errors import InputError, invalid

METADATA = {*MethodConfig.model_fields} - {"target"}
"""Of a method or model what only the program reads; not its constructor's."""
GIVEN = {  # parameters that the program fills
    "model": ("vocab_sizes", "n_numeric"),
    "optimizer": (),  # its first one, once there are weights
    "method": ("model", "optimizer", "label_kind", "seed"),
}
KINDS = {  # what each group builds
    "model": "torch.nn.Module",
    "optimizer": "torch.optim.Optimizer",
    "method": "llp.methods.base.LLPMethod",
}
_OURS = re.compile(r"llp\.|torch\.optim\.")


def find_target(group: str, path: str) -> Callable[..., Any]:
    """The class or function that a `_target_` names; InputError where it cannot be imported."""
    from hydra._internal.utils import _locate  # hydra.utils' own logs what fails, in lines beside ours

    try:
        target: Any = _locate(path)
    except Exception as error:  # own modules raise anything
        reason = " ".join(str(error).split())
        raise invalid(f"{group}._target_", path, f"what can be imported ({reason})") from error
    if not callable(target):
        raise invalid(f"{group}._target_", path, f"a class or a function, not a {type(target).__name__}")
    function: Callable[..., Any] = target
    return function


def check_target(group: str, node: Mapping[str, Any], given: tuple[str, ...]) -> Callable[..., Any]:
    """The class that a node names, once it is what the group builds and the options fit its type hints."""
    target, path, kind = find_target(group, node["_target_"]), node["_target_"], KINDS[group.partition(".")[0]]
    if not (isinstance(target, type) and issubclass(target, find_target(group, kind))):  # type: ignore[arg-type]
        raise invalid(f"{group}._target_", path, f"a subclass of {kind}, not {getattr(target, '__name__', target)}")
    if node.get("_partial_") and group != "optimizer":
        raise invalid(f"{group}._partial_", True, "none, as only an optimizer is given its first parameter later")
    later = tuple(inspect.signature(target).parameters)[:1] if group == "optimizer" else ()
    check_options(group, target, node, (*given, *later))
    return target


def instantiate(group: str, node: Mapping[str, Any], **given: Any) -> Any:
    """Call a node's target with its options, which are checked; a partial one's first parameter comes later."""
    target = find_target(group, node["_target_"])
    named = {name: value for name, value in node.items() if name not in HYDRAS}
    return partial(target, **named) if node.get("_partial_") else target(**named, **given)


def check_preparation(dataset: DatasetConfig) -> Callable[..., Any]:
    """Check what a dataset's `prepare` is given, named as the dataset has it; returns the function."""
    options, path = dataset.prepare.options, dataset.prepare.target
    function = find_target("dataset.prepare", path)
    if not {"folder", "made_by"} <= inspect.signature(function).parameters.keys():
        expected = "a function that writes a table, with the parameters folder and made_by"
        raise invalid("dataset.prepare._target_", path, expected)
    own = {name: value for name, value in options.items() if getattr(dataset, name, None) == value}
    others = {name: value for name, value in options.items() if name not in own}
    for group, checked, rest in (("dataset", own, others), ("dataset.prepare", others, own)):
        try:
            check_options(group, function, checked, ("folder", "made_by", "raw", "errors", *rest))
        except InputError as error:
            if path != MADE_BY:
                raise
            raise InputError(str(error).replace("dataset.prepare.", "")) from None  # as they are written
    return function


def check_targets(config: TrainConfig) -> None:
    """Check what a run's method, model and optimizer are given; imports torch, which takes seconds."""
    check_target("model", config.model.node, GIVEN["model"])
    check_target("optimizer", config.optimizer.node, GIVEN["optimizer"])
    check_target("method", config.method.node, GIVEN["method"])
    if config.method.first_stage is not None:
        check_target("method.first_stage", config.method.first_stage.node, GIVEN["method"])


def check_origin(targets: Iterable[tuple[str, str]], packages: Iterable[str], where: str) -> None:
    """Refuse targets (option, dotted path) of packages that the user has not named; nothing of them is imported."""
    others = [(name, path) for name, path in targets if not _OURS.match(path)]
    known = {*packages} - {"hydra", "torch"} if others else set()
    for name, path in others:
        if path.partition(".")[0] not in known:
            raise invalid(
                name,
                path,
                f"what llp or torch.optim holds, or a package that your own YAML files name, as {where} may have come "
                "from anywhere",
                "'hydra.searchpath=[pkg://PACKAGE.conf]'",
            )


def packages_of(config: DictConfig) -> Iterator[str]:
    """Packages on a composed config's search path, and those that the YAML files of its folders name."""
    for source in config.hydra.runtime.config_sources:
        if source.schema == "pkg":
            yield source.path.partition(".")[0]
        elif source.schema == "file":
            for path in Path(source.path).rglob("*.yaml"):
                named = re.findall(r"""_target_:\s*["']?(\w+)""", path.read_text(errors="replace"))
                yield from named


def targets_in(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every target inside a value of a config, with the option that names it."""
    return ((option, str(one)) for option, one in places(name, value) if option.rpartition(".")[2] == "_target_")
