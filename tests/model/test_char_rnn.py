"""The model computes its equations: against a loop in NumPy, and against numeric gradients."""

import numpy as np
import numpy.typing as npt
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.model.char_rnn import CharRNN
from seqkit.model.state import State

T, B, V, H, L = 5, 3, 7, 4, 2  # all different, so that no two can be mistaken for each other
Array = npt.NDArray[np.float64]


def model(**settings: object) -> CharRNN:
    config = ModelConfig(**{"num_layers": L, "hidden_size": H, "vocabulary_size": V, **settings})  # type: ignore[arg-type]
    return CharRNN(config, torch.Generator().manual_seed(3)).double()


def inputs(seed: int = 0) -> tuple[torch.Tensor, State]:
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randint(0, V, (T, B), generator=generator)
    h, c = torch.randn(2, L, B, H, dtype=torch.float64, generator=generator)
    return symbols, State(h, c, torch.zeros(1, B, 0))


def test_labels_stand_beside_the_symbols_as_the_sum_of_their_rows() -> None:
    net = model(input="embedding", labels=[2, 3], label_size=3)
    symbols, state = inputs()
    labels = torch.stack([symbols % 3, symbols % 4], -1)
    found, _ = net(symbols, state, labels=labels)
    # The same network with one label in their place, which has a value for each pair.
    rows = net.state_dict()["labels.weight"]
    sums = torch.stack([rows[a] + rows[3 + b] for a in range(3) for b in range(4)])
    paired = model(input="embedding", labels=[11], label_size=3)
    with torch.no_grad():
        paired.load_state_dict(net.state_dict() | {"labels.weight": sums})
    pair = 4 * labels[..., :1] + labels[..., 1:]
    assert torch.allclose(found, paired(symbols, state, labels=pair)[0])
    without, _ = net(symbols, state)
    assert torch.equal(without, net(symbols, state, labels=torch.zeros_like(labels))[0])
    assert not torch.allclose(without, found)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def oracle(net: CharRNN, symbols: torch.Tensor, state: State) -> tuple[Array, Array, Array]:
    """The equations in the docstring of seqkit.model, one symbol and one lane at a time."""
    weights = {name: value.detach().numpy() for name, value in net.state_dict().items()}
    table = weights.get("embedding.weight", np.eye(V))
    h, c = state.h.numpy().copy(), state.c.numpy().copy()
    logits = np.zeros((T, B, V))
    for t in range(T):
        for b in range(B):
            x = table[int(symbols[t, b])]
            for layer in range(net.config.num_layers):
                w = {key: weights[f"layers.{layer}.{key}_l0"] for key in (
                    "weight_ih", "weight_hh", "bias_ih", "bias_hh")}  # fmt: skip
                gates = (
                    w["weight_ih"] @ x + w["bias_ih"] + w["weight_hh"] @ h[layer, b] + w["bias_hh"]
                )
                i, f, g, o = np.split(gates, 4)
                c[layer, b] = sigmoid(f) * c[layer, b] + sigmoid(i) * np.tanh(g)
                x = h[layer, b] = sigmoid(o) * np.tanh(c[layer, b])
            y = h[:, b].sum(0) if net.config.skip_connections else x
            logits[t, b] = weights["head.weight"] @ y + weights["head.bias"]
    return logits, h, c


@pytest.mark.parametrize("coding", ["one_hot", "embedding"])
@pytest.mark.parametrize("skips", [False, True])
def test_forward_equals_the_equations(coding: str, skips: bool) -> None:
    net = model(input=coding, embedding_size=6, skip_connections=skips)
    symbols, state = inputs()
    logits, after = net(symbols, state)
    expected, h, c = oracle(net, symbols, state)
    np.testing.assert_allclose(logits.detach().numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(after.h.detach().numpy(), h, atol=1e-12)
    np.testing.assert_allclose(after.c.detach().numpy(), c, atol=1e-12)


def test_gradients_equal_numeric_ones() -> None:
    net = model()
    symbols, state = inputs(1)
    targets = torch.randint(0, V, (T, B), generator=torch.Generator().manual_seed(2))
    names = [name for name, _ in net.named_parameters()]

    def loss(*parameters: torch.Tensor) -> torch.Tensor:
        values = dict(zip(names, parameters, strict=True))
        logits, _ = torch.func.functional_call(net, values, (symbols, state))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    parameters = tuple(value.detach().requires_grad_() for value in net.parameters())
    assert torch.autograd.gradcheck(loss, parameters, fast_mode=True)


def test_initial_weights_follow_from_the_generator_and_the_forget_bias_is_one() -> None:
    first, again = model(), model()
    for name, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    for layer in range(L):
        bias = first.state_dict()[f"layers.{layer}.bias_ih_l0"]
        assert bias.tolist() == [0.0] * H + [1.0] * H + [0.0] * 2 * H
        assert not first.state_dict()[f"layers.{layer}.bias_hh_l0"].any()


def test_masks_multiply_each_layers_output_and_leave_its_own_way_alone() -> None:
    net = model()
    symbols, state = inputs(5)
    plain, after = net(symbols, state)
    masks = torch.ones(L, B, H, dtype=torch.float64)
    assert torch.equal(net(symbols, state, masks)[0], plain)
    masks[0, 1] = 0  # lane 1 of the bottom layer is not seen by the layer above it
    dropped, state_dropped = net(symbols, state, masks)
    assert torch.equal(dropped[:, [0, 2]], plain[:, [0, 2]])
    assert not torch.equal(dropped[:, 1], plain[:, 1])
    assert torch.equal(state_dropped.h[0], after.h[0])
    masks[1] = 0
    torch.testing.assert_close(
        net(symbols, state, masks)[0], net.head.bias.detach().expand(T, B, V)
    )


def test_one_call_of_the_stack_is_the_same_function() -> None:
    net = model()
    symbols, state = inputs(6)
    for first, second in zip(
        net(symbols, state), net.runnable_weights(kernel="stacked")(symbols, state), strict=True
    ):
        torch.testing.assert_close(first, second)
    with pytest.raises(ValueError, match="neither masks nor resets"):
        net.runnable_weights(kernel="stacked")(symbols, state, torch.ones(L, B, H))


@torch.no_grad()
def test_an_input_mask_multiplies_the_embeddings() -> None:
    net = model(input="embedding", embedding_size=6)
    symbols, state = inputs(8)
    mask = torch.full((B, 6), 2.0, dtype=torch.float64)
    doubled = net.copied()
    doubled.embedding.weight *= 2  # type: ignore[union-attr]
    torch.testing.assert_close(
        net.runnable_weights()(symbols, state, input_mask=mask)[0], doubled(symbols, state)[0]
    )
