"""Which methods are near copies of another: `python -m benchmarks.gradients` (`make bench-gradients`).

Prints, as a Markdown table, the cosine between each method's gradient and those of `dllp_bce` and `dllp_mse` on the
same network and minibatch, for bags of 16, 64 and 256 instances, on an untrained network and on one that `dllp_bce`
has trained half of the way. A method whose cosine is 1 is the other one, up to the length of its steps. With a path the
table replaces the one between that file's two markers.
"""

import copy
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.measuring import compose_config
from llp.config.commands import TrainConfig
from llp.config.composition import register
from llp.config.grouping_keys import options, read_option
from llp.config.targets import find_target
from llp.data.batch import BagBatch
from llp.data.datamodule import LLPDataModule
from llp.data.minibatches import gather_bags
from llp.methods.base import LLPMethod
from llp.runs.build import Parts, open_table

BAG_SIZES = (16, 64, 256)
REFERENCES = ("dllp_bce", "dllp_mse")
ROWS = 40_000
MINIBATCHES = 8  # that a cosine is the mean over
HALF_WAY = 200  # steps
LEARNING_RATE = 1e-3
MARKERS = ("<!-- gradients: python -m benchmarks.gradients docs/methods.md -->", "<!-- end of gradients -->")

Cosines = dict[tuple[str, int, bool, str], float]
"""By method, bag size, whether the network is half trained, and reference."""


def cosine(one: Tensor, other: Tensor) -> float:
    """Cosine of the angle between two gradients (N,), in float64; NaN where one of them is zero."""
    one, other = one.double(), other.double()
    return float(one @ other / (one.norm() * other.norm()))


def gradient_of(method: LLPMethod, batch: BagBatch) -> Tensor:
    """Gradient (N,) of the loss of a minibatch by all weights of the method's model."""
    method.zero_grad(set_to_none=True)
    method.batch_loss(batch).backward()  # type: ignore[no-untyped-call]
    gradients = [
        torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in method.model.parameters()
    ]
    return torch.cat([gradient.detach().flatten() for gradient in gradients])


def learning_from_bags() -> list[str]:
    """Names of the methods with a YAML file that learn binary labels from bags, the references first."""
    names = [name for name in options("method") if name not in REFERENCES]
    return [*REFERENCES, *(name for name in names if _learns_from_bags(name))]


@cache
def _composed(*overrides: str) -> TrainConfig:
    return compose_config(*overrides)


def _learns_from_bags(name: str) -> bool:
    method = read_option(f"method/{name}")
    learns: bool = find_target("method", method._target_).learns_from_bags()  # type: ignore[attr-defined]
    return "binary" in method.labels and learns


class Setting:
    """Bags of one size of a made table, networks to take gradients on, and methods that are ready for a step.

    `half_way` steps train the half-trained network; `overrides` are of the methods that are measured.
    """

    def __init__(self, bag_size: int, folder: Path, *, rows: int, half_way: int, overrides: Sequence[str]) -> None:
        self._made = ("dataset=synthetic", f"dataset.rows={rows}", "dataset.vocab_fraction=1e-3")
        config = _composed(*self._made, f"grouping_key=random_{bag_size}", f"data_dir={folder}")
        self._table = open_table(config.dataset, config.data_dir)
        self.data: LLPDataModule = Parts(config, self._table).data(instance_labels=False)
        self._half_way = half_way
        self._overrides = overrides
        self.network = cache(self._network)

    def minibatches(self, n: int) -> Iterator[BagBatch]:
        """Give n minibatches of eight bags each, in the order of the bags, again and again."""
        ids = np.arange(8 * n) % len(self.data.train_bags)
        for first in range(0, len(ids), 8):
            yield gather_bags(self.data.table, self.data.train_bags, ids[first : first + 8])

    def method(self, name: str, *, trained: bool) -> LLPMethod:
        """Make a method as it is after two epochs, but for the weights: those of the network."""
        config = _composed(*self._made, f"method={name}", *self._overrides)
        network = self.network(config.model.name, trained)
        return self._ready(
            Parts(config, self._table).method(), network, two_stages=config.method.first_stage is not None
        )

    def reference(self, name: str, network: nn.Module) -> LLPMethod:
        """Make a reference with the given network."""
        method = Parts(_composed(*self._made, f"method={name}"), self._table).method()
        method.model = copy.deepcopy(network)
        return self._ready(method, network, two_stages=False)

    def _ready(self, method: LLPMethod, network: nn.Module, *, two_stages: bool) -> LLPMethod:
        method.take_train_split(self.data.train_split)
        if two_stages:
            method.start_from(copy.deepcopy(network))
        method.model.load_state_dict(network.state_dict())
        method.on_fit_start()
        gradient_of(method, next(self.minibatches(1)))
        for _ in range(2 * self.data.minibatches_per_epoch):
            method.after_step()  # averages and weights that change from step to step
        return method

    def _network(self, model: str, trained: bool) -> nn.Module:
        """Make the network; `dllp_bce` trains it."""
        method = Parts(_composed(*self._made, f"model={model}"), self._table).method()  # dllp_bce
        optimizer = torch.optim.Adam(method.model.parameters(), lr=LEARNING_RATE)
        for batch in self.minibatches(self._half_way if trained else 0):
            gradient_of(method, batch)
            optimizer.step()
        return method.model


def measure(
    names: Sequence[str],
    bag_sizes: Sequence[int],
    *,
    rows: int,
    half_way: int,
    n_minibatches: int,
    overrides: Sequence[str] = (),
) -> Cosines:
    """Measure the mean cosine over some minibatches, for every combination."""
    found: Cosines = {}
    with tempfile.TemporaryDirectory() as folder:
        for bag_size in bag_sizes:
            setting = Setting(bag_size, Path(folder), rows=rows, half_way=half_way, overrides=overrides)
            for trained, name in itertools.product((False, True), names):
                method = setting.method(name, trained=trained)
                others = [setting.reference(reference, method.model) for reference in REFERENCES]
                batches = list(setting.minibatches(n_minibatches))
                own = [gradient_of(method, batch) for batch in batches]
                for reference, other in zip(REFERENCES, others, strict=True):
                    pairs = zip(own, (gradient_of(other, batch) for batch in batches), strict=True)
                    found[name, bag_size, trained, reference] = float(np.mean([cosine(*pair) for pair in pairs]))
    return found


def markdown(cosines: Cosines) -> str:
    """Lay the cosines out as a table: a method a row, to both references, on both networks."""
    names = list(dict.fromkeys(name for name, *_ in cosines))
    sizes = list(dict.fromkeys(size for _, size, *_ in cosines))
    columns = [(reference, trained) for reference in REFERENCES for trained in (False, True)]
    titles = [f"{reference}, {'half-trained' if trained else 'untrained'}" for reference, trained in columns]
    lines = [f"| method | {' | '.join(titles)} |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        cells = [
            " / ".join(f"{cosines[name, size, trained, reference]:.3f}" for size in sizes)
            for reference, trained in columns
        ]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def replace_table(path: Path, table: str) -> None:
    """Put the table between the two markers of a Markdown file."""
    before, rest = path.read_text().split(MARKERS[0])
    after = rest.split(MARKERS[1])[1]
    path.write_text(f"{before}{MARKERS[0]}\n{table}\n{MARKERS[1]}{after}")


def main() -> None:
    """Measure, and show or write the table."""
    register()
    cosines = measure(learning_from_bags(), BAG_SIZES, rows=ROWS, half_way=HALF_WAY, n_minibatches=MINIBATCHES)
    table = markdown(cosines)
    if len(sys.argv) > 1:
        replace_table(Path(sys.argv[1]), table)
    else:
        print(table)


if __name__ == "__main__":
    main()
