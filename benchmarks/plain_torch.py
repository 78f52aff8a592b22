"""Another way to do our work, as its users start it: `python benchmarks/plain_torch.py given.npz WHAT THREADS`.

The same network in torch's own layers, on minibatches or test rows that `benchmarks.speed` wrote; one line of JSON is
printed. Run by its path it imports nothing of this package, so no setting of ours is made. WHAT is `adam` (torch's
fused Adam, dense), `sparse_adam` (`SparseAdam`, which leaves untouched rows where they are: another algorithm),
`fbgemm` (row-wise Adagrad fused into the backward pass, another algorithm too; needs `pip install fbgemm-gpu-cpu`),
`limit` (the step's distinct rows of weights and both moments, each read and written once in place), or `scoring`.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HIDDEN = 128, 64
ROUNDS = 3
STEPS = {"adam": 4, "sparse_adam": 10}  # of a round; 30 of the others
SCORING_BATCHES = (1024, 4096, 16_384)  # rows; the quickest counts


class Network(nn.Module):
    """Row numbers (n, Fc) to raw scores (n,): a sum of the table's rows, then relu layers."""

    def __init__(self, table: nn.Module) -> None:
        super().__init__()
        self.table = table
        self.bias = nn.Parameter(torch.zeros(WIDTH))
        self.body = nn.Sequential(nn.ReLU(), nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

    def forward(self, rows: Tensor) -> Tensor:
        """See the class."""
        scores: Tensor = self.body(self.table(rows) + self.bias).squeeze(1)
        return scores


class FusedTable(nn.Module):
    """A table of fbgemm's, whose backward pass takes the step of the rows."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        from fbgemm_gpu import split_table_batched_embeddings_ops_training as fbgemm

        self.table = fbgemm.SplitTableBatchedEmbeddingBagsCodegen(
            [(n_rows, WIDTH, fbgemm.EmbeddingLocation.HOST, fbgemm.ComputeDevice.CPU)],
            optimizer=fbgemm.OptimType.EXACT_ROWWISE_ADAGRAD,
            learning_rate=1e-3,
            eps=1e-8,
            pooling_mode=fbgemm.PoolingMode.SUM,
            device=torch.device("cpu"),
        )

    def forward(self, rows: Tensor) -> Tensor:
        """Sums (n, D) of rows (n, Fc)."""
        total: Tensor = self.table(rows.flatten(), torch.arange(0, rows.numel() + 1, rows.shape[1]))
        return total


def best_rate(work: Callable[[], int]) -> tuple[float, int]:
    """The most of what `work` does in a second, over some rounds after a first one, and the anonymous bytes then."""
    work()
    rates = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        done = work()
        rates.append(done / (time.perf_counter() - begin))
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return max(rates), 1024 * int(fields["RssAnon"].split()[0])


def training(given: Mapping[str, NDArray[Any]], what: str) -> tuple[float, int]:
    """Steps a second of `dllp_bce` on minibatches of bags."""
    n_rows = int(given["n_rows"])
    if what == "fbgemm":
        net = Network(FusedTable(n_rows))
        of_table: list[Tensor] = []
    else:
        net = Network(nn.EmbeddingBag(n_rows, WIDTH, mode="sum", sparse=what == "sparse_adam"))
        of_table = list(net.table.parameters())
    others = [weight for name, weight in net.named_parameters() if not name.startswith("table.")]
    sparse = torch.optim.SparseAdam(of_table, lr=1e-3) if what == "sparse_adam" else None
    dense = torch.optim.Adam(others + (of_table if sparse is None else []), lr=1e-3, fused=True)
    batches = [tuple(map(torch.from_numpy, one)) for one in zip(*(given[n] for n in PARTS), strict=True)]
    optimizers = [dense] if sparse is None else [dense, sparse]

    def steps() -> int:
        n = STEPS.get(what, 30)
        for i in range(n):
            rows, segment, size, proportion = batches[i % len(batches)]
            for optimizer in optimizers:
                optimizer.zero_grad()
            h = torch.sigmoid(net(rows))
            mean = torch.zeros(len(size)).index_add(0, segment, h) / size
            F.binary_cross_entropy(mean, proportion).backward()  # type: ignore[no-untyped-call]
            for optimizer in optimizers:
                optimizer.step()
        return n

    return best_rate(steps)


PARTS = ("rows", "segment", "size", "proportion")


def limit(given: Mapping[str, NDArray[Any]]) -> tuple[float, int]:
    """Steps a second, on one thread, that touch each distinct row's weights and moments once, and do nothing else."""
    import numba

    @numba.njit
    def touch(rows: NDArray[Any], tables: tuple[NDArray[Any], ...]) -> None:
        for i in range(len(rows)):
            w, m, v = tables[0][rows[i]], tables[1][rows[i]], tables[2][rows[i]]
            for d in range(len(w)):
                m[d] += np.float32(1)
                v[d] += np.float32(1)
                w[d] += np.float32(1)

    distinct = [np.unique(rows) for rows in given["rows"]]
    tables = tuple(np.ones((int(given["n_rows"]), WIDTH), np.float32) for _ in range(3))

    def pass_over() -> int:
        for rows in distinct:
            touch(rows, tables)
        return len(distinct)

    return best_rate(pass_over)


def scoring(given: Mapping[str, NDArray[Any]]) -> tuple[float, int]:
    """Test rows a second, gathered from the table's memory map as they are scored."""
    net = Network(nn.EmbeddingBag(int(given["n_rows"]), WIDTH, mode="sum")).eval()
    codes, test, offset = np.load(str(given["categorical"]), mmap_mode="r"), given["test"], given["offset"]

    def of_size(size: int) -> Callable[[], int]:
        @torch.inference_mode()
        def score() -> int:
            parts = (test[first : first + size] for first in range(0, len(test), size))
            return len(torch.cat([net(torch.from_numpy(codes[part] + offset)) for part in parts]))

        return score

    return max(best_rate(of_size(size)) for size in SCORING_BATCHES)


def main() -> None:
    """Measure, and print the rate and the memory that it took, or what is missing."""
    path, what, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    given = np.load(path)
    try:
        other = {"limit": limit, "scoring": scoring}.get(what)
        rate, anonymous = training(given, what) if other is None else other(given)
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    print(json.dumps({"rate": rate, "anonymous": anonymous}))


if __name__ == "__main__":
    main()
