"""The average is the weighted mean that it says it is."""

import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.model.char_rnn import CharRNN
from seqkit.training.average import WeightAverage


def model() -> CharRNN:
    config = ModelConfig(num_layers=1, hidden_size=3, vocabulary_size=4)
    return CharRNN(config, torch.Generator().manual_seed(1))


@torch.no_grad()
def test_it_is_the_mean_of_all_weights_so_far_the_recent_ones_counting_more() -> None:
    trained, decay = model(), 0.8
    average, seen = WeightAverage(trained, decay), []
    for step in range(12):
        for own in trained.parameters():
            own.add_(torch.randn(own.shape, generator=torch.Generator().manual_seed(step)))
        seen.append(trained.head.weight.clone())
        average.set_step(step)
        average.update()
    shares = torch.tensor([decay ** (len(seen) - 1 - step) for step in range(len(seen))])
    expected = (torch.stack(seen) * shares[:, None, None]).sum(0) / shares.sum()
    torch.testing.assert_close(average.model.head.weight.data, expected)
    assert not torch.equal(trained.head.weight, average.model.head.weight)


def test_it_goes_on_from_what_was_kept() -> None:
    trained = model()
    average, other = WeightAverage(trained, 0.9), WeightAverage(trained, 0.9)
    with torch.no_grad():
        trained.head.weight.add_(1)
    average.set_step(0)
    average.update()
    other.restore({"more": torch.zeros(1), **average.tensors()})
    for a, b in zip(average.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(ValueError, match=r"average\.0 is missing"):
        other.restore({})
