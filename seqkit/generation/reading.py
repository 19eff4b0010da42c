"""Reading: a network is fed symbols from a state on, in blocks."""

from collections.abc import Iterator

import torch
from torch import Tensor

from seqkit.foundation.threads import SharedCores
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Integers

_BLOCK = 1024  # symbols that are fed in one call


@torch.inference_mode()
def read(
    model: CharRNN, size: int, symbols: Integers, state: State
) -> Iterator[tuple[Tensor, State]]:
    """Feed symbols (N,), block by block, to one stream.

    Args:
        model: on the device where it is to run.
        size: the codec's V; logits that the model has beyond it are left out.
        symbols: fed in this order.
        state: before them, (L, 1, H).

    Yields:
        Of each block of n symbols, the logits (n, V) of what follows each, fp32, and the state
        (L, 1, H) after the last.
    """
    device = model.head.weight.device
    with SharedCores(device) as cores:
        for first in range(0, len(symbols), _BLOCK):
            cores.adapt()
            fed = torch.from_numpy(symbols[first : first + _BLOCK, None])
            logits, state = model(fed.to(device), state)
            yield logits[:, 0, :size].float(), state
