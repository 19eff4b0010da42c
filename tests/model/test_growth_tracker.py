"""A network with a larger vocabulary says of known symbols what it said before."""

import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.model.char_rnn import CharRNN
from seqkit.model.growth_tracker import with_vocabulary

NUMBERS = torch.tensor([0, 2, 3, 6, 7])  # of 5 known symbols among 8
SIZE = 8


def network(logits: int = 5, **settings: object) -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=4, vocabulary_size=logits, **settings)  # type: ignore[arg-type]
    return CharRNN(config, torch.Generator().manual_seed(3))


def grown(model: CharRNN, seed: int = 1) -> CharRNN:
    return with_vocabulary(model, NUMBERS, SIZE, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("coding", ["one_hot", "embedding"])
@pytest.mark.parametrize("logits", [5, 7, 8, 11])
def test_known_symbols_keep_their_logits(cell: str, coding: str, logits: int) -> None:
    before = network(logits, cell=cell, input=coding, embedding_size=3)
    after = grown(before)
    assert after.config.vocabulary_size == max(logits, SIZE)
    symbols = torch.randint(0, 5, (6, 2), generator=torch.Generator().manual_seed(0))
    expected, _ = before(symbols, before.zero_state(2))
    found, _ = after(NUMBERS[symbols], after.zero_state(2))
    torch.testing.assert_close(found[..., NUMBERS], expected[..., :5])
    torch.testing.assert_close(found[..., SIZE:], expected[..., SIZE:])


def test_new_symbols_start_with_weights_of_their_own_by_the_seed() -> None:
    one, same, other = grown(network()), grown(network()), grown(network(), seed=2)
    new = [1, 4, 5]
    for name in ("head.weight", "head.bias"):
        rows, again, others = (net.state_dict()[name][new] for net in (one, same, other))
        assert torch.equal(rows, again)
        assert not (rows == others).any()
        assert len({*map(tuple, rows.reshape(3, -1).tolist())}) == 3
    columns = one.input_table()[new]
    assert len({*map(tuple, columns.tolist())}) == 3
    assert torch.equal(columns, same.input_table()[new])


def test_new_symbols_are_unlikely_at_first() -> None:
    before = network()
    with torch.no_grad():
        before.head.bias.copy_(torch.tensor([3.0, -9.0, -9.0, -9.0, -9.0]))  # certain of one symbol
    after = grown(before)
    logits, _ = after(NUMBERS[:1, None], after.zero_state(1))
    assert logits.softmax(-1)[..., [1, 4, 5]].sum() < 0.01
