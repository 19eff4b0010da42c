"""Weights that are dropped learn as masked ones; the average counts the recent ones more."""

import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.training.weights import TrainingWeights, WeightAverage, without_padding


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_dropped_weights_run_and_learn_as_masked_ones(precision: str) -> None:
    config = ModelConfig(num_layers=2, hidden_size=7, vocabulary_size=5, weight_drop=0.5)
    dropping = CharRNN(config, torch.Generator().manual_seed(1))
    made = TrainingWeights(dropping, Execution("layerwise", precision, 8), separators=False)
    before = [own.detach().clone() for own in made.parameters]
    masks = torch.randint(0, 2, (2, 28, 7), generator=torch.Generator().manual_seed(1)) * 2.0
    made.drop(masks)
    made.take_gradients(tuple(torch.ones_like(leaf) for leaf in made.leaves), masks)
    recurrent = {1: masks[0], 5: masks[1]}  # w u b d, w u b d, head
    for place, (leaf, own) in enumerate(zip(made.leaves, made.parameters, strict=True)):
        mask = recurrent.get(place, torch.ones(()))
        assert torch.equal(own, before[place])
        assert torch.equal(without_padding(leaf, own), (own * mask).to(leaf.dtype))
        assert torch.equal(made.gradients[place], mask.expand(own.shape))


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
