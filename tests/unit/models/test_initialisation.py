"""Initial weights are those of torch's seed, whatever other threads draw meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from llp.config.grouping_keys import options
from llp.models.initialisation import DrawFrom
from llp.runs.build import build_model, open_table
from llp.seeding import keyed_seed

pytestmark = pytest.mark.run  # races threads for seconds

DRAWS = {
    "linear": lambda: nn.Linear(30, 20).weight,
    "embedding": lambda: nn.Embedding(30, 20).weight,
    "attention": lambda: nn.MultiheadAttention(8, 2).in_proj_weight,
    "orthogonal": lambda: nn.init.orthogonal_(torch.empty(6, 5)),
    "truncated": lambda: nn.init.trunc_normal_(torch.empty(6, 5)),
    "randn": lambda: torch.randn(40),
    "rand_like": lambda: torch.rand_like(torch.ones(40)),
    "randint": lambda: torch.randint(9, (40,)),
    "randint from": lambda: torch.randint(3, 9, (40,)),
    "randperm": lambda: torch.randperm(40),
    "bernoulli": lambda: torch.bernoulli(torch.full((40,), 0.5)),
    "two": lambda: torch.cat([torch.randn(20), torch.rand(20)]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_torchs_seed_and_torchs_generator_is_left_alone(name):
    torch.manual_seed(7)
    expected = DRAWS[name]()
    before = torch.get_rng_state()
    with DrawFrom(torch.Generator().manual_seed(7)):
        drawn = DRAWS[name]()
    assert torch.equal(drawn, expected)
    assert torch.equal(torch.get_rng_state(), before)


def test_generator_that_is_given_is_taken():
    given = torch.Generator().manual_seed(1)
    expected = torch.randn(5, generator=torch.Generator().manual_seed(1))
    with DrawFrom(torch.Generator().manual_seed(7)):
        assert torch.equal(torch.randn(5, generator=given), expected)


@pytest.mark.parametrize("name", options("model"))
def test_weights_of_a_seed_are_its_own_while_other_threads_draw_and_seed(tiny, name):
    config = tiny(f"model={name}")
    table = open_table(config)
    torch.manual_seed(keyed_seed(config.seed, "initial weights"))
    expected = build_model(config, table).state_dict()
    done = threading.Event()

    def disturb():
        while not done.is_set():
            torch.manual_seed(1)
            torch.rand(3)

    with ThreadPoolExecutor() as pool:
        pool.submit(disturb)
        try:
            built = [build_model(config, table).state_dict() for _ in range(10)]
        finally:
            done.set()
    for weights in built:
        assert all(torch.equal(weights[key], expected[key]) for key in expected)
