"""A search for options: what is searched is read from a multirun's overrides, and each trial is some of its runs."""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep

from llp.errors import InputError, invalid, plain

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

REPEATED = ("fold", "seed")
"""Options of which a trial trains all values."""

# held-out losses of different bags or kinds do not compare
_NOT_SEARCHED = ("dataset", "grouping_key", "bag_dataset", "design", "protocol", "noise")


@dataclass(frozen=True)
class Search:
    """The options that a search varies, and those that it does not."""

    space: "dict[str, BaseDistribution]"  # of each option that is searched
    fixed: list[str]  # overrides that all trials share
    repeats: list[list[str]]  # overrides of each run of a trial: its fold and seed

    @classmethod
    def of(cls, overrides: Sequence[Override]) -> "Search":
        """Read the overrides of a multirun, of an option the last; InputError where nothing can be searched."""
        given = {one.get_key_element(): one for one in overrides}
        space, fixed = {}, []
        repeated: list[list[str]] = []
        for name, one in given.items():
            if name in REPEATED:
                repeated.append([f"{name}={value}" for value in _values(one)])
            elif one.is_sweep_override():
                if name.partition(".")[0] in _NOT_SEARCHED:
                    what = "one value in a search, as held-out losses of different bags do not compare"
                    raise InputError(f"Invalid {one.input_line}: expected {what}")
                if name == "method" and len({value.startswith("instance_") for value in _values(one)}) > 1:
                    what = "methods that all learn from bags, or all from instances, whose held-out losses compare"
                    raise InputError(f"Invalid {one.input_line}: expected {what}")
                space[name] = _distribution(one)
            else:
                fixed.append(f"{name}={one.get_value_element_as_str()}")
        if not space:
            example = "optimizer.lr=tag(log,interval(1e-4,1e-1))"
            raise InputError(f"Nothing to search: expected an option with several values, such as '{example}'")
        return cls(space, fixed, [list(run) for run in itertools.product(*repeated)])

    @property
    def name(self) -> str:
        """Eight hexadecimal digits of all that makes it this search."""
        space = {name: repr(distribution) for name, distribution in self.space.items()}
        text = json.dumps([sorted(self.fixed), space, self.repeats], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def run(self, params: Mapping[str, Any], repeat: int) -> list[str]:
        """The overrides of one run of a trial."""
        return [*self.fixed, *written_params(params), *self.repeats[repeat]]


def written_params(params: Mapping[str, Any]) -> list[str]:
    """A trial's options as they are written on the command line.

    >>> written_params({"optimizer.lr": 1e-05, "method.reduction": "sum"})
    ['optimizer.lr=1e-05', 'method.reduction=sum']
    """
    return [f"{name}={plain(value)}" for name, value in params.items()]


def _values(override: Override) -> list[str]:
    if not override.is_sweep_override():
        return [override.get_value_element_as_str()]
    if not override.is_discrete_sweep():
        raise invalid(str(override.key_or_group), str(override.input_line), "values that all trials train", "fold=0,1")
    return list(override.sweep_string_iterator())


def _distribution(override: Override) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    sweep: Any = override.value()
    log = "log" in getattr(sweep, "tags", ())
    try:
        if isinstance(sweep, IntervalSweep):
            low: Any = sweep.start
            high: Any = sweep.end
            whole = isinstance(low, int) and isinstance(high, int)
            return IntDistribution(low, high, log=log) if whole else FloatDistribution(low, high, log=log)
        steps: Any = sweep.range() if isinstance(sweep, RangeSweep) else None
        if isinstance(steps, range) and steps.step > 0:
            return IntDistribution(steps[0], steps[-1], step=steps.step)
        if isinstance(sweep, ChoiceSweep | RangeSweep):
            return CategoricalDistribution(list(override.sweep_string_iterator()))  # as they are written
    except (ValueError, IndexError) as error:
        raise InputError(f"Invalid {override.input_line}: {error}") from None
    raise InputError(f"Invalid {override.input_line}: expected an interval, a range or values with commas")
