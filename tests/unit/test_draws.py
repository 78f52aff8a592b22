"""What is drawn is a fair draw, and another one wherever it is meant to be: by seed, fold, epoch, step and purpose."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from llp.data.folds import fold_positions
from llp.data.keys import KINDS, RandomKey
from llp.data.minibatches import Minibatches
from llp.data.overlap import split_bags
from llp.models.embedding_mlp import EmbeddingMLP
from llp.models.hidden_layers import dense
from llp.models.multi_hot import MultiHot
from llp.seeding import keyed_seed
from tests.helpers.composed import build_data, build_method
from tests.helpers.every_method import composed
from tests.helpers.tables import make_table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("draws") / "t", n=2000, sizes=(40, 30, 3))


def all_differ(draws):
    return all(not np.array_equal(a, b) for a, b in itertools.combinations(draws, 2))


def test_a_key_of_a_draw_is_all_of_its_parts():
    keys = [keyed_seed(0, "a"), keyed_seed(1, "a"), keyed_seed(0, "b"), keyed_seed(0, "a", 0), keyed_seed(0, "a", 0, 0),
            keyed_seed(0, "a", 1), keyed_seed(0, "a", 0, 1), keyed_seed(0, "a", 1, 0)]  # fmt: skip
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 2**63 for key in keys)


def test_order_of_the_bags_is_shuffled_anew_in_every_epoch_and_for_every_seed():
    def order(seed, epoch):
        minibatches = Minibatches(200, 8, seed=seed)
        minibatches.set_epoch(epoch)
        return np.concatenate([*minibatches])

    orders = [order(seed, epoch) for seed in (0, 1) for epoch in (0, 1, 2)]
    assert all_differ([np.arange(200), *orders])
    for one in orders:
        assert np.array_equal(np.sort(one), np.arange(200))
        assert np.abs(stats.spearmanr(one, np.arange(200)).statistic) < 0.25
    assert np.array_equal(np.concatenate([*Minibatches(20, 8, seed=None)]), np.arange(20))


def is_shuffled(rows):
    """Whether neighbours are the table's by chance alone: not in rows that were only rotated or reversed."""
    return np.mean(np.abs(np.diff(rows)) == 1) < 0.02


@pytest.mark.parametrize("kind", ["random", "fixed"])
def test_bags_of_a_size_are_a_fair_shuffle_and_another_one_in_every_fold_and_for_every_seed(table, kind):
    columns = {"columns": ("a", "b")} if kind == "fixed" else {}

    def key_of(seed):
        return KINDS[kind](**columns, bag_size=10, seed=seed)

    def order(fold, seed):
        return key_of(seed).fold_bags(table, fold).train.rows

    first, other_fold, other_seed = order(0, 0), order(1, 0), order(0, 1)
    common = np.intersect1d(first, other_fold)  # the rows of both train parts, in the order of each
    assert len(common) == 1200
    assert not np.array_equal(first[np.isin(first, common)], other_fold[np.isin(other_fold, common)])
    place = {name: np.argsort(rows[np.isin(rows, common)]) for name, rows in (("0", first), ("1", other_fold))}
    assert abs(stats.spearmanr(place["0"], place["1"]).statistic) < 0.15
    # nor is it the same permutation of each fold's own train rows
    assert not np.array_equal(*(np.searchsorted(np.sort(rows), rows) for rows in (first, other_fold)))
    assert not np.array_equal(first, other_seed)
    assert is_shuffled(first)
    whole = key_of(0).all_bags(table).rows
    assert is_shuffled(whole)
    assert not np.array_equal(whole, key_of(1).all_bags(table).rows)


def test_held_out_bags_are_a_fair_share_that_follows_from_the_seed(table):
    bags = RandomKey(bag_size=10, seed=0).fold_bags(table, 0).train
    held = {}
    for seed in range(40):
        kept, out = (bags.select(part) for part in split_bags(bags, 0.1, seed))
        assert (len(kept), len(out)) == (144, 16)
        assert np.array_equal(np.sort(np.concatenate([kept.rows, out.rows])), np.sort(bags.rows))
        held[seed] = np.flatnonzero(np.isin(bags.rows[bags.offsets[:-1]], out.rows))
        assert (np.diff(held[seed]) > 0).all()
    assert all_differ(held.values())
    times = np.bincount(np.concatenate([*held.values()]), minlength=160)
    assert times.max() <= 14  # of 40, at a tenth each
    assert [len(split_bags(bags, share, 0)[1]) for share in (0.0, 1e-6, 0.003, 0.0097, 0.5)] == [0, 1, 1, 2, 80]


def test_weights_follow_glorots_law_or_kerass_for_embeddings_and_biases_are_zero():
    torch.manual_seed(0)
    layer, first = dense(300, 200), MultiHot(vocab_sizes=[400, 300], n_numeric=0, width=200, bias=True)
    model = EmbeddingMLP(vocab_sizes=[400, 300], n_numeric=0, embedding_dim=16, hidden=[8])
    for weight, bound in ((layer.weight, (6 / 500) ** 0.5), (first.weight, (6 / 900) ** 0.5), (model.embedding, 0.05)):
        values = weight.detach().numpy().ravel()
        assert 0.99 * bound < np.abs(values).max() <= bound
        assert stats.kstest(values, stats.uniform(-bound, 2 * bound).cdf).pvalue > 1e-4
    for bias in (layer.bias, first.bias, model.first.bias, model.score.bias):
        assert not bias.detach().numpy().any()


def draws_of(table, fold, seed, *overrides):
    """What a run draws before its first step: weights, held-out bags, order of the bags, a method's draw; test rows."""
    words = ("grouping_key=random_64", "noise=laplace", f"fold={fold}", f"seed={seed}", *overrides)
    config = composed("genbags", *words)
    data, method = build_data(config, table, instance_labels=False, all_bags=True), build_method(config, table)
    few = data.train_bags.select(np.arange(20))
    return {
        "weights": np.concatenate([weight.detach().numpy().ravel() for weight in method.model.parameters()]),
        "held out": split_bags(few, 0.3, data.batching.seed)[1],
        "order": next(iter(data._train_minibatches)),
        "draw": torch.rand(4, generator=method.generator("bag weights")).numpy(),
        "test rows": data.test_rows,
        "noise": data.train_bags.label_sum[:20] % 1,  # of integers and noise
    }


@pytest.mark.parametrize(
    ("words", "same_in_seeds"),
    [
        (("protocol=paper",), {"test rows", "noise"}),
        (("protocol=holdout",), set()),
        (("protocol=holdout", "protocol.folds=published"), {"test rows", "noise"}),
    ],
)
def test_every_draw_of_a_run_is_another_one_in_every_fold_and_for_every_seed(table, words, same_in_seeds):
    points = [(0, fold) for fold in range(5)] + [(1, 0), (2, 0)]
    drawn = {point: draws_of(table, point[1], point[0], *words) for point in points}
    torch.rand(3)
    again = draws_of(table, 0, 0, *words)  # they follow from nothing else
    for what in drawn[0, 0]:
        assert np.array_equal(again[what], drawn[0, 0][what]), what
        assert all_differ([drawn[0, fold][what] for fold in range(5)]), what
        seeds = [drawn[seed, 0][what] for seed in range(3)]
        assert all_differ(seeds) == (what not in same_in_seeds), what


def test_five_folds_of_a_seed_cover_the_rows_once(table):
    for seed in (0, 1):
        tests = [draws_of(table, fold, seed, "protocol=holdout")["test rows"] for fold in range(5)]
        assert np.array_equal(np.sort(np.concatenate(tests)), np.arange(table.n_rows))


def test_random_bags_of_a_repeat_are_no_permutation_of_another_ones(table):
    key = RandomKey(bag_size=10, seed=0)
    first, other = (key.fold_bags(table, 0, repeat).train.rows for repeat in (0, 1))
    assert not np.array_equal(*(np.searchsorted(np.sort(rows), rows) for rows in (first, other)))


def test_runs_of_before_draw_as_they_did(table):
    """Their config has no `protocol.folds`: all folds of a seed draw alike, on the published folds."""
    before = [draws_of(table, fold, 3, "protocol=holdout", "~protocol.folds") for fold in (0, 1)]
    for what in ("weights", "held out", "order", "draw"):
        assert np.array_equal(*(one[what] for one in before)), what
    assert np.array_equal(before[0]["test rows"], fold_positions(table.n_rows, 0)[1])
    torch.manual_seed(keyed_seed(3, "initial weights"))
    first = MultiHot(vocab_sizes=table.vocab_sizes, n_numeric=table.n_numeric, width=128, bias=True)
    assert np.array_equal(before[0]["weights"][: first.weight.numel()], first.weight.detach().numpy().ravel())
