"""tanh(c) found from the outputs is that of the equations."""

import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.model.char_rnn import CharRNN
from seqkit.model.state import State

T, B, V, H, L = 7, 3, 5, 6, 2


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("given", ["one_hot", "embedding"])
@pytest.mark.parametrize("skip", [False, True])
def test_every_cell_of_every_layer(cell: str, given: str, skip: bool) -> None:
    config = ModelConfig(
        cell=cell, num_layers=L, hidden_size=H, vocabulary_size=V, input=given, embedding_size=4,
        skip_connections=skip,
    )  # fmt: skip
    draw = torch.Generator().manual_seed(1)
    model = CharRNN(config, draw)
    symbols = torch.randint(0, V, (T, B), generator=draw)
    h, c = 0.5 * torch.randn(2, L, B, H, generator=draw)
    begin = State(h, c, torch.zeros(1, B, 0), torch.zeros(1, B, 0))
    network = model.runnable_weights(dtype=torch.float32)
    with torch.no_grad():
        trace = network.traced(symbols, begin)
        logits, after = network(symbols, begin)
        assert torch.equal(trace.logits, logits)
        assert torch.equal(trace.after.c, after.c)
        state = begin
        for t in range(T):
            _, state = network(symbols[t : t + 1], state)
            expected = state.c.tanh() if cell == "lstm" else state.h
            for layer in range(L):
                found = network.activations(trace, layer)
                assert torch.allclose(found[t], expected[layer], atol=1e-5)
