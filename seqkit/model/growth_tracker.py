"""A trained network that goes on with a larger vocabulary."""

import dataclasses

import torch
from torch import Tensor

from seqkit.model.char_rnn import CharRNN


@torch.no_grad()
def with_vocabulary(
    model: CharRNN, numbers: Tensor, size: int, generator: torch.Generator
) -> CharRNN:
    """The network for a vocabulary of `size` symbols that holds those it knows.

    What belongs to a known symbol is kept: its input weights, its row of the head and its bias. A
    new symbol starts with fresh ones. In the head they are added to the mean of the known rows,
    which keeps the new symbols unlikely: by Jensen's inequality, the mean of n logits adds at most
    one part in n to the sum of their exponentials. Spare logits are used before any are added.

    Args:
        model: the network, with V logits, on the CPU.
        numbers: what its symbols 0 … N-1 are called in the larger vocabulary, (N,), N at most V.
        size: of the larger vocabulary.
        generator: draws the fresh weights.
    """
    logits = max(size, model.config.vocabulary_size)
    grown = CharRNN(dataclasses.replace(model.config, vocabulary_size=logits), generator)
    spare = torch.arange(size, logits)
    now = torch.cat([numbers, spare])
    before = torch.cat([torch.arange(len(numbers)), spare])
    trained = model.state_dict()
    for name, values in grown.state_dict().items():
        old = trained[name]
        if name.startswith("head."):
            values.add_(old[: len(numbers)].mean(0))
            values[now] = old[before]
        elif name == "embedding.weight":
            values[now] = old[before]
        elif name == "layers.0.weight_ih_l0" and model.embedding is None:
            values[:, now] = old[:, before]
        else:
            values.copy_(old)
    return grown
