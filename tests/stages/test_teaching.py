"""Teachers write from the mean of their probabilities, and tell these as they are."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Bytes
from seqkit.foundation.console import unseen
from seqkit.model.char_rnn import CharRNN
from seqkit.stages.teaching import Teachers

WRITTEN = 10_001
CODEC = Bytes()


def teacher(seed: int, device: str, **settings: object) -> CharRNN:
    values = {"num_layers": 2, "hidden_size": 24, "vocabulary_size": CODEC.size, **settings}
    model = CharRNN(ModelConfig(**values), torch.Generator().manual_seed(seed))  # type: ignore[arg-type]
    with torch.no_grad():
        model.head.weight *= 12  # that some symbols are far likelier than others
    return model.to(device)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_what_is_told_of_each_symbol_is_the_mean_of_what_the_teachers_say(device: str) -> None:
    settings: dict[str, object] = {"skip_connections": True, "input": "embedding"}
    teachers = [teacher(1, device), teacher(2, device, **settings)]
    together = Teachers.of(teachers, CODEC, WRITTEN)
    written, probabilities = together.write(3, unseen)
    count = len(together.blank.starts)
    assert len(written) == len(probabilities) == len(together.blank) == -(-WRITTEN // count) * count
    assert together.bytes == written.nbytes + probabilities.nbytes
    documents = written.reshape(count, -1).T.astype(np.int64)
    symbols = torch.from_numpy(documents.copy()).to(device)
    inputs = torch.cat([symbols.new_full((1, count), CODEC.start), symbols[:-1]])
    with torch.no_grad():
        shares = [m(inputs, m.zero_state(count))[0].softmax(-1) for m in teachers]
    told = probabilities.view(count, -1, CODEC.size).transpose(0, 1).float()
    torch.testing.assert_close(told, sum(shares) / 2, atol=2e-3, rtol=2e-2)
    # Symbols are drawn as often as they are likely: their nats are the entropy, on average.
    nats = -told.gather(-1, symbols[..., None]).log().mean()
    entropy = torch.special.entr(told).sum(-1).mean()
    assert float(nats) == pytest.approx(float(entropy), rel=0.03)


def test_the_same_seed_gives_the_same_text() -> None:
    first, again, other = (
        Teachers.of([teacher(1, "cpu")], CODEC, WRITTEN).write(seed, unseen)[0]
        for seed in (3, 3, 4)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
