"""Steps of several symbols, against a loop from the equations."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from seqkit.config import ModelConfig
from seqkit.foundation.errors import DeviceError
from seqkit.generation.engines.pytorch import PreparedStep
from seqkit.lstm import cells
from seqkit.model.arrays import NetworkArrays
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Floats
from tests.generation.engines.networks import stepped

N, B, P, V, H, LABELS = 5, 3, 4, 7, 6, 5


def network(kind: str, places: int = P, layers: int = 2, cell: str = "lstm") -> CharRNN:
    """A network of random weights in fp64: one_hot, embedding, or labelled."""
    config = ModelConfig(
        cell=cell,
        num_layers=layers,
        hidden_size=H,
        vocabulary_size=V,
        symbols_per_step=places,
        head_size=8,
        input="one_hot" if kind == "one_hot" else "embedding",
        embedding_size=3,
        labels=[LABELS] if kind == "labelled" else [],
        label_size=2,
    )
    generator = torch.Generator().manual_seed(1)
    model = CharRNN(config, generator).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4, generator=generator)
    return model


def row(count: int, seed: int = 2) -> tuple[Tensor, Tensor]:
    """Symbols (T, B), and labels (T, B, 1) that are the same in a frame."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(LABELS + 1, (-(-count // P), B), generator=draw).repeat_interleave(P, 0)
    return torch.randint(V, (count, B), generator=draw), labels[:count, :, None]


def naive(model: CharRNN, symbols: Tensor, labels: Tensor) -> Tensor:
    """The logits (T, B, V) of whole frames, one symbol after the other, by the equations."""
    config, frame = model.config, model.frame
    assert frame is not None
    places, size = config.frame, V + 1
    state = [(torch.zeros(B, H).double(), torch.zeros(B, H).double()) for _ in model.layers]
    drawn = [torch.zeros(B, dtype=torch.int64)] * (places - 1)  # of the last frame, from 1
    logits = []
    for time, (fed, label) in enumerate(zip(symbols, labels, strict=True)):
        place = time % places
        if place == 0:
            read = [*drawn, fed + 1]
            drawn = []
            rows = [p * size + each for p, each in enumerate(read)]
            if model.embedding is not None:
                parts = [torch.stack([model.embedding.weight[at] for at in rows]).sum(0)]
            else:
                parts = [torch.zeros(B, places * size).double()]
                for at in rows:
                    parts[0][torch.arange(B), at] += 1
            if model.labels is not None:
                parts.append(model.labels.weight[label[:, 0]])
            x = torch.cat(parts, 1)
            for index, (w, u, b, d) in enumerate(model.runnable_weights().layers.weights):
                h, c = state[index]
                h, c = cells.cell_step(config.cell, x @ w.T + b, h @ u.T + d, h, c)
                state[index], x = (h, c), h
        else:
            drawn = [*drawn, fed + 1]
        part = slice(8 * place, 8 * place + 8)
        z = state[-1][0] @ frame.hidden.weight[part].T + frame.hidden.bias[part]
        for index, each in enumerate(drawn):
            z = z + frame.drawn[index * V + each - 1]
        part = slice(V * place, V * place + V)
        logits.append(z.relu() @ model.head.weight[part].T + model.head.bias[part])
    return torch.stack(logits)


@pytest.mark.parametrize("kind", ["one_hot", "embedding", "labelled"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_it_is_what_the_equations_say(kind: str, cell: str) -> None:
    model = network(kind, cell=cell)
    symbols, labels = row(N * P)
    with torch.no_grad():
        wanted = naive(model, symbols, labels)
        logits, _ = model(symbols, model.zero_state(B), labels=labels)
    assert torch.allclose(logits, wanted, atol=1e-6)  # h and c are fp32 between calls


@pytest.mark.parametrize("kind", ["one_hot", "labelled"])
@pytest.mark.parametrize("cuts", [(4, 8), (1, 2, 3), (7, 9), (5, 6, 15, 18)])
def test_a_row_may_be_cut_anywhere(kind: str, cuts: tuple[int, ...]) -> None:
    model = network(kind)
    symbols, labels = row(N * P - 1)
    with torch.no_grad():
        whole, end = model(symbols, model.zero_state(B), labels=labels)
        state, parts = model.zero_state(B), []
        for begin, stop in itertools.pairwise((0, *cuts, len(symbols))):
            logits, state = model(symbols[begin:stop], state, labels=labels[begin:stop])
            parts.append(logits)
    assert torch.allclose(torch.cat(parts), whole, atol=1e-6)
    for one, other in zip(state, end, strict=True):
        assert one.shape == other.shape
        assert torch.allclose(one, other, atol=1e-6)


def test_separators_begin_anew() -> None:
    model = network("labelled")
    symbols, labels = row(N * P)
    resets = torch.zeros(N * P, B, dtype=torch.bool)
    resets[2 * P : 3 * P, 1] = True  # the third frame of a lane
    with torch.no_grad():
        logits, after = model(symbols, model.zero_state(B), None, resets, labels)
        lane = slice(1, 2)
        rest, known = symbols[3 * P :, lane], labels[3 * P :, lane]
        wanted, end = model(rest, model.zero_state(1), labels=known)
    assert torch.allclose(logits[3 * P :, lane], wanted, atol=1e-6)
    for one, other in zip(after, end, strict=True):
        assert torch.allclose(one[:, lane], other, atol=1e-6)


@pytest.mark.parametrize("kind", ["one_hot", "embedding", "labelled"])
def test_a_prepared_step_gives_the_same(kind: str) -> None:
    model = network(kind).float()
    symbols, _ = row(N * P - 2)
    labels = torch.tensor([0, 4, 2])
    known = labels.expand(len(symbols), -1)[..., None]
    with torch.no_grad():
        begun, before = model(symbols[:6], model.zero_state(B), labels=known[:6])
        wanted, end = model(symbols[6:], before, labels=known[6:])
    step = PreparedStep(model, V)
    logits, after = stepped(step, symbols[6:].numpy(), before, labels.numpy())
    assert np.allclose(logits, wanted, atol=1e-5)
    for one, other in zip(after, end, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert begun.shape == (6, B, V)


def test_memory_is_asked_for_before_a_small_file_makes_a_large_table() -> None:
    config = ModelConfig(input="embedding", embedding_size=1, hidden_size=6, vocabulary_size=7)
    read, rest = np.zeros((1 << 20, 1), np.float32), np.zeros(1, np.float32)
    weights: dict[str, Floats] = {
        f"layers.0.{kind}_l0": rest for kind in ("weight_hh", "bias_ih", "bias_hh")
    }
    weights |= {"embedding.weight": read, "layers.0.weight_ih_l0": read}
    with pytest.raises(DeviceError, match="this network needs at least 4"):
        NetworkArrays(config, weights).gate_table("embedding")
