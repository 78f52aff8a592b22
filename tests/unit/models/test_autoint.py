"""AutoInt against its equations in numpy, and the space that its embedding makes."""

import numpy as np
import pytest
import torch

from llp.analysis.space import learned_space
from llp.errors import InputError
from llp.models.autoint import AttentionLayer, AutoInt
from llp.models.embedding_mlp import EmbeddingMLP
from llp.models.mlp import MLP
from tests.helpers.tables import make_table

VOCAB = [9, 5, 7]
N = 6


LAYERS = {"embedding_dim": 4, "attention_layers": 3, "heads": 2, "head_width": 8, "hidden": [16, 12]}


def autoint(number_columns=1, n_numeric=2):
    torch.manual_seed(0)
    return AutoInt(vocab_sizes=VOCAB, n_numeric=n_numeric, number_columns=number_columns, **LAYERS)


def instances(n=N, n_numeric=2):
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, size, n) for size in VOCAB]).astype(np.int32)
    return torch.from_numpy(codes), torch.from_numpy(rng.normal(size=(n, n_numeric)).astype(np.float32))


def test_attention_is_the_papers():
    """Per head: softmax over columns of ⟨query, key⟩, weighted values; heads side by side, residual, relu (eq. 5-8)."""
    torch.manual_seed(1)
    layer = AttentionLayer(width_in=4, heads=2, head_width=3)
    x = torch.randn(5, 6, 4)
    query, key, value, residual = (w.detach().numpy() for w in layer.maps.weight.chunk(4))
    expected = np.empty((5, 6, 6))
    for i, columns in enumerate(x.numpy()):
        heads = []
        for h in range(2):
            part = slice(3 * h, 3 * h + 3)
            scores = (columns @ query[part].T) @ (columns @ key[part].T).T
            weight = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            heads.append(weight @ (columns @ value[part].T))
        expected[i] = np.maximum(np.concatenate(heads, axis=1) + columns @ residual.T, 0)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_embedding_is_value_times_vector_then_rows():
    model = autoint()
    categorical, numeric = instances()
    embedded = model.embed(categorical, numeric).detach().numpy().reshape(N, 5, 4)
    vector, table = model.number_vector.detach().numpy(), model.embedding.detach().numpy()
    codes = categorical.numpy()
    for j in range(2):
        np.testing.assert_allclose(embedded[:, j], numeric.numpy()[:, j, None] * vector[j], rtol=1e-6)
    np.testing.assert_allclose(embedded[:, 2], codes[:, :1] * vector[2], rtol=1e-6)  # a binned number
    np.testing.assert_array_equal(embedded[:, 3], table[codes[:, 1]])
    np.testing.assert_array_equal(embedded[:, 4], table[VOCAB[1] + codes[:, 2]])


def test_every_parameter_learns():
    model = autoint()
    scores = model(*instances())
    assert scores.shape == (N,)
    (scores**2).sum().backward()
    assert all(torch.isfinite(p.grad).all() and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("n_numeric", [0, 2])
def test_representation_gives_the_score(n_numeric):
    model = autoint(number_columns=0, n_numeric=n_numeric).eval()
    batch = instances(n_numeric=n_numeric)
    representation = model.representation(*batch)
    assert representation.shape == (N, 12)
    torch.testing.assert_close(model.score(representation).squeeze(-1), model(*batch))


def test_a_minibatch_of_one_instance_trains():
    model = autoint().train()
    model(*instances())  # sets running statistics
    before = model.body[1].running_mean.clone()
    one = model(*instances(n=1))
    torch.testing.assert_close(one, model.eval()(*instances(n=1)))
    assert torch.equal(model.body[1].running_mean, before)


def embedding_mlp(n_numeric):
    return EmbeddingMLP(vocab_sizes=VOCAB, n_numeric=n_numeric, embedding_dim=4, hidden=[8])


@pytest.mark.parametrize("make", [autoint, lambda: autoint(number_columns=0), lambda: embedding_mlp(2)])
def test_learned_space_has_the_distances_of_embed(tmp_path, make):
    model = make()
    table = make_table(tmp_path / "table", n=20, sizes=VOCAB, n_numeric=2)
    vectors = learned_space("a run's", table, model).vectors(np.arange(20))
    categorical, numeric = (torch.from_numpy(np.array(part)) for part in (table.categorical, table.numeric))
    embedded = model.embed(categorical, numeric).detach().numpy().astype(np.float64)

    def distances(points):
        return ((points[:, None] - points) ** 2).sum(axis=2)

    np.testing.assert_allclose(distances(vectors), distances(embedded), rtol=1e-4, atol=1e-7)


def test_a_model_without_embedding_is_no_space(tmp_path):
    model = MLP(vocab_sizes=VOCAB, n_numeric=0, hidden=[4, 4])
    with pytest.raises(InputError, match=r"MLP has no embedding; expected a run with model=autoint"):
        learned_space("a run's", make_table(tmp_path / "table", sizes=VOCAB), model)
