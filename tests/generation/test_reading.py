"""A network is fed symbols from a state on: the blocks make no difference."""

import numpy as np
import pytest
import torch

from seqkit.api.symbol_reader import SymbolReader
from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.generation import reading
from seqkit.generation.continuation import feed_prompt
from seqkit.generation.reading import read
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State


@pytest.fixture
def model() -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=6, vocabulary_size=9)
    return CharRNN(config, torch.Generator().manual_seed(3))


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 11])
def test_blocks_give_what_the_whole_gives(
    count: int, model: CharRNN, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 4)
    symbols = np.random.default_rng(1).integers(0, 7, count)
    begin = State(*torch.rand(2, 2, 1, 6, generator=torch.Generator().manual_seed(2)))
    blocks = list(read(model, 7, symbols, begin))
    assert [len(logits) for logits, _ in blocks] == [4] * (count // 4) + [count % 4] * (
        count % 4 > 0
    )
    if not count:
        return
    with torch.no_grad():
        expected, after = model(torch.from_numpy(symbols)[:, None], begin)
    assert not blocks[0][0].requires_grad
    torch.testing.assert_close(torch.cat([logits for logits, _ in blocks]), expected[:, 0, :7])
    torch.testing.assert_close(blocks[-1][1].h, after.h)
    torch.testing.assert_close(blocks[-1][1].c, after.c)


def test_prompts_and_contents_are_read_by_the_same_reader(
    model: CharRNN, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 2)
    calls: list[int] = []
    model.register_forward_pre_hook(lambda _, given: calls.append(len(given[0])))
    symbols = np.array([1, 0, 2, 1, 1], np.uint8)
    feed_prompt(model, 7, (model.zero_state(1), 0), symbols, 1)
    assert calls == [2, 2, 2]  # the start symbol comes first
    calls.clear()
    reader = SymbolReader(model, Characters("abcdefg", 0))
    after = reader.after(symbols, reader.begin(None))
    assert calls == [2, 2, 1]  # the last symbol is still to be fed
    assert after.symbol == 1
