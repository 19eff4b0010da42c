"""A trained network for more symbols than it has learnt."""

import dataclasses

import torch
from torch import Tensor

from seqkit.model.char_rnn import CharRNN


@torch.no_grad()
def with_vocabulary(
    model: CharRNN, numbers: Tensor, size: int, generator: torch.Generator, ends: bool = False
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
        ends: whether the last logit is that of the end of a document, after which none is spare:
            it is new if `model` has none.
    """
    config = model.config
    logits = size + 1 if ends else max(size, config.vocabulary_size)
    grown = CharRNN(dataclasses.replace(config, vocabulary_size=logits, ends=ends), generator)
    beyond = [torch.arange(size, logits)] * 2  # the numbers of what else is kept: now, and before
    if ends:
        kept = torch.arange(config.symbols, config.vocabulary_size)
        beyond = [kept - config.symbols + size, kept]
    now = torch.cat([numbers, beyond[0]])
    before = torch.cat([torch.arange(len(numbers)), beyond[1]])
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
