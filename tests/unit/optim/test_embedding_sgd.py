"""The authors' training of AutoInt: a step against the gradient of the whole loss, penalty included."""

import pytest
import torch

from llp.errors import InputError
from llp.models.autoint import AutoInt
from llp.models.linear import Linear
from llp.optim.embedding_sgd import EmbeddingSGD


def small_autoint():
    torch.manual_seed(0)
    options = {"embedding_dim": 4, "attention_layers": 1, "heads": 2, "head_width": 3, "hidden": [5]}
    return AutoInt(vocab_sizes=[9, 5, 7], n_numeric=1, number_columns=1, **options)


def loss_of(model):
    categorical = torch.tensor([[1, 2, 3], [8, 0, 3], [0, 4, 6]], dtype=torch.int32)
    scores = model(categorical, torch.tensor([[0.5], [-1.0], [2.0]]))
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, torch.tensor([1.0, 0.0, 1.0]))


def test_a_step_is_the_gradient_of_loss_and_penalty():
    model, reference = small_autoint(), small_autoint()
    optimizer = EmbeddingSGD(model.parameters(), lr=0.1, embedding_l2=0.5)
    loss_of(model).backward()
    optimizer.step()
    (loss_of(reference) + 0.5 * (reference.embedding**2).sum() + 0.5 * (reference.number_vector**2).sum()).backward()
    untouched = reference.embedding.detach()[3].clone()  # the row of a value that no instance has
    with torch.no_grad():
        for weight in reference.parameters():
            weight -= 0.1 * weight.grad
    for (name, weight), expected in zip(model.named_parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(weight, expected, msg=name)
    torch.testing.assert_close(model.embedding.detach()[3], 0.9 * untouched)


def test_penalty_without_embeddings_is_refused():
    model = Linear(vocab_sizes=[3], n_numeric=1, bias=False)
    with pytest.raises(InputError, match=r"Invalid optimizer.embedding_l2=0.5: expected 0 for this model"):
        EmbeddingSGD(model.parameters(), lr=0.1, embedding_l2=0.5)
    EmbeddingSGD(model.parameters(), lr=0.1, embedding_l2=0.0)
