"""A model reads a prompt."""

import numpy as np
import torch

from seqkit.generation.sampling import Floats
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.symbols import Symbols

_BLOCK = 1024  # symbols of the prompt that are read at a time


@torch.inference_mode()
def feed_prompt(
    model: CharRNN, size: int, start: int, prompt: Symbols, streams: int
) -> tuple[Floats, State]:
    """Read the start symbol and a prompt (N,): logits (S, V) of what follows, and state.

    `size` is the codec's; logits that the model has beyond it stand for nothing.
    """
    state = model.zero_state(1)
    symbols = np.concatenate([[start], prompt]).astype(np.int64)
    with torch.backends.cudnn.flags(allow_tf32=False):
        for first in range(0, len(symbols), _BLOCK):
            fed = torch.from_numpy(symbols[first : first + _BLOCK, None])
            logits, state = model(fed.to(model.head.weight.device), state)
    spread = State(*(values.repeat(1, streams, 1) for values in state))
    return logits[-1, :, :size].float().repeat(streams, 1).cpu().numpy(), spread
